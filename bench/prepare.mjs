// Prepares a run by building the product and installing the peers' packages, which are only installed in bench/.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const lock = fileURLToPath(new URL('package-lock.json', import.meta.url));
const installed = fileURLToPath(new URL('node_modules/.package-lock.json', import.meta.url));
const run = (...args) => execFileSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] });
const project = fileURLToPath(new URL('..', import.meta.url));

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  console.log("installing the peers' packages");
  run('ci', '--prefix', fileURLToPath(new URL('.', import.meta.url)));
}
run('run', '--silent', '--prefix', project, 'build');
