// node scripts/build-agent.mjs              writes the host agent as one file, dist/gpu-agent.mjs
// The file bundles the packages that it uses, so it needs only Node. Run `npx tsc -p .` first.
import { readdirSync, readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const NAME = 'gpu-agent.mjs';
/**
 * Matches the parts of dockerode that aren't used: engines over SSH, and BuildKit. They would add ssh2, gRPC and
 * protobuf to the file.
 */
const UNUSED = /^(ssh2|protobufjs|@grpc\/(grpc-js|proto-loader))$/;
const leaveOut = {
  name: 'leave-out',
  enforce: 'pre',
  resolveId: (id) => (UNUSED.test(id) ? `\0unused:${id}` : null),
  load: (id) => (id.startsWith('\0unused:') ? 'export default {};' : null),
};

/** Returns the file's text and the paths of the modules in it, relative to the package root. */
export async function bundleAgent({ write = false } = {}) {
  // With any other value, Vite would include additional messages in the file.
  process.env.NODE_ENV = 'production';
  const { output } = await build({
    root,
    configFile: false,
    logLevel: 'warn',
    plugins: [leaveOut],
    ssr: { noExternal: true, target: 'node' },
    build: {
      ssr: 'dist/src/agent/main.js',
      target: 'node20.19',
      outDir: 'dist',
      emptyOutDir: false,
      copyPublicDir: false,
      write,
      rolldownOptions: { output: { format: 'esm', entryFileNames: NAME, codeSplitting: false, footer } },
    },
  });
  if (output.length !== 1) throw new Error(`expected one file, got ${output.map(({ fileName }) => fileName)}`);
  const [{ code, imports, modules }] = output;
  return { code, imports, modules: Object.keys(modules).map((id) => id.replace(root, '')) };
}

/** Returns the licences of the bundled packages, which must be distributed with them. */
function footer({ modules }) {
  const folders = Object.keys(modules).flatMap(
    (id) => /^\/.*\/node_modules\/(@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? [],
  );
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    return `${name} ${version} (${license})\n${file === undefined ? '' : readFileSync(join(folder, file), 'utf8')}`;
  });
  return texts.join('\n').trim().replace(/^/gm, '// ').replace(/ +$/gm, '');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await bundleAgent({ write: true });
  await chmod(new URL(`../dist/${NAME}`, import.meta.url), 0o755);
}
