// node scripts/build-graphiql.mjs           writes GraphiQL's files to dist/graphiql, or to the given folder
// The package contains these files as strings in one 9 MB module, which the server must never load. `version` is
// written last and identifies the package's version and this script. If it already matches, nothing is written.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const script = fileURLToPath(import.meta.url);
const target = process.argv[2] ?? fileURLToPath(new URL('../dist/graphiql', import.meta.url));

async function currentVersion() {
  const { version } = createRequire(script)('@graphql-yoga/render-graphiql/package.json');
  const digest = createHash('sha256').update(await readFile(script));
  return `${version}-${digest.digest('hex').slice(0, 8)}`;
}

async function write(version) {
  const { css, editorWorkerService, graphqlWorker, js, jsonWorker } = await import(
    '@graphql-yoga/render-graphiql/graphiql'
  );
  const files = {
    'graphiql.css': css,
    'graphiql.js': js,
    'editor.worker.js': editorWorkerService,
    'graphql.worker.js': graphqlWorker,
    'json.worker.js': jsonWorker,
  };
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(target, name), content);
    await writeFile(join(target, `${name}.gz`), await promisify(gzip)(content, { level: 9 }));
  }
  await writeFile(join(target, 'version'), version);
}

const version = await currentVersion();
const present = await readFile(join(target, 'version'), 'utf8').catch(() => null);
if (present !== version) await write(version);
