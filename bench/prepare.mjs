// node bench/prepare.mjs NAME [ARGUMENTS]    runs bench/NAME.mjs after building the product
// Also installs the peers' packages, but only in bench/. Benchmarks run on the reference Node in .node-version. It is
// fetched from npm if the current Node is older. `node bench/NAME.mjs` runs on the current Node and builds nothing.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = fileURLToPath(new URL('..', import.meta.url));
const run = (...args) => execFileSync('npm', args, { cwd: project, stdio: ['ignore', 'ignore', 'inherit'] });

function installPeers() {
  const [lock, installed] = ['package-lock.json', 'node_modules/.package-lock.json'].map((file) =>
    join(project, 'bench', file),
  );
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  console.log("installing the peers' packages");
  run('ci', '--prefix', join(project, 'bench'));
}

/** Returns the program of the reference Node, or of the current one if that isn't older. */
function referenceNode() {
  const version = readFileSync(join(project, '.node-version'), 'utf8').trim();
  if (Number.parseInt(process.versions.node, 10) >= Number.parseInt(version, 10)) return process.execPath;
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(project, 'node_modules/.cache', `node-${version}`);
  const program = join(folder, 'node_modules', name, 'bin/node');
  if (!existsSync(program)) {
    console.log(`fetching Node ${version}`);
    run(
      'install',
      '--prefix',
      folder,
      '--no-save',
      '--no-audit',
      '--no-fund',
      '--ignore-scripts',
      `${name}@${version}`,
    );
  }
  return program;
}

const [name, ...args] = process.argv.slice(2);
installPeers();
run('run', '--silent', 'build');
const child = spawn(referenceNode(), [join(project, 'bench', `${name}.mjs`), ...args], { stdio: 'inherit' });
// The benchmark ends its own processes. Ctrl-C reaches it directly.
process.on('SIGINT', () => {}).on('SIGTERM', () => child.kill('SIGTERM'));
child.once('exit', (code) => {
  process.exitCode = code ?? 1;
});
