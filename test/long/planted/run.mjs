// Plants each fault from this folder in a copy of the project and expects its tests to fail.
//   node test/long/planted/run.mjs [--quick | --check] [name ...]      name: part of a patch's file name
// A patch starts with a description of the fault, followed by `Tests: <files>`. It also has `Only: <part of its name>`
// if a single test is enough, `Build: yes` if the tests run the built programs, or `Build: console` if they open the
// console's pages. The same tests must pass without the fault, which --quick takes for granted. For each fault, prints
// "caught" or the reason why it wasn't caught. Finally, prints how many faults are caught by `npm test` and by `npm run
// test:all`. Fails if any fault is not caught or a patch no longer applies. With --check, runs no tests and fails only
// if a patch no longer applies or names no tests.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = dirname(fileURLToPath(import.meta.url));
const ROOT = join(FOLDER, '../../..');
const LIMIT_MS = 900_000;
/** Tests that `npm test` and `npm run test:all` run. */
const TEST = /\btest\/(rules|domain|service)\//;
const TEST_ALL = /\btest\/(rules|domain|service|programs|hosts|console)\//;
const BUILDS = {
  yes: 'npx tsc -p . && node scripts/build-agent.mjs && node scripts/build-gateway.mjs',
  console: 'npm run -s build:console',
};
/** Folders that are not copied. The copy links to node_modules instead. */
const LEFT_OUT = new Set(['node_modules', '.git', '.data', '.stryker', 'bench']);

const isQuick = process.argv.includes('--quick');
const isCheck = process.argv.includes('--check');
const names = process.argv.slice(2).filter((name) => !name.startsWith('--'));
const files = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.patch') && (names.length === 0 || names.some((name) => file.includes(name))))
  .sort();
if (isCheck) {
  const isWhole = (file) => /^Tests: ./m.test(readFileSync(join(FOLDER, file), 'utf8'));
  const applies = (file) => spawnSync('git', ['apply', '--check', join(FOLDER, file)], { cwd: ROOT }).status === 0;
  const stale = files.filter((file) => !isWhole(file) || !applies(file));
  if (stale.length > 0) console.error(`these patches no longer apply or name no tests: ${stale.join(', ')}`);
  process.exit(stale.length === 0 ? 0 : 1);
}
const copy = mkdtempSync(join(tmpdir(), 'planted-'));
const healthy = new Map();
const caught = [];
try {
  cpSync(ROOT, copy, { recursive: true, filter: (path) => dirname(path) !== ROOT || !LEFT_OUT.has(basename(path)) });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  for (const file of files) {
    const result = plant(join(FOLDER, file));
    if (result === 'caught') caught.push(file);
    console.log(`${result.padEnd(8)} ${file.replace(/\.patch$/, '')}`);
  }
  const within = (tiers) =>
    caught.filter((file) => tiers.test(testsOf(readFileSync(join(FOLDER, file), 'utf8')))).length;
  console.log(`${files.length} faults planted, ${caught.length} caught`);
  console.log(`npm test catches ${within(TEST)}, npm run test:all ${within(TEST_ALL)}`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.exitCode = caught.length === files.length && files.length > 0 ? 0 : 1;

/** Returns the test files that a patch names, separated by spaces. */
function testsOf(text) {
  return /^Tests: (.+)$/m.exec(text)?.[1] ?? '';
}

/** Returns "caught", or the reason why the fault wasn't caught. */
function plant(patch) {
  const text = readFileSync(patch, 'utf8');
  const tests = testsOf(text);
  const [, only] = /^Only: (.+)$/m.exec(text) ?? [];
  if (tests === '') return 'names no tests';
  const args = [...tests.split(/\s+/), ...(only === undefined ? [] : ['-t', only])];
  const key = args.join(' ');
  if (!isQuick && !healthy.has(key)) healthy.set(key, run(args));
  const before = healthy.get(key) ?? 'passed';
  if (before !== 'passed') return `not evaluated: without it its tests ${before}`;
  if (apply(patch) !== 0) return 'no longer applies';
  const command = BUILDS[/^Build: (.+)$/m.exec(text)?.[1]];
  const outcome = build(command) !== 0 ? 'does not build' : run(args);
  if (apply(patch, '-R') !== 0) throw new Error(`${patch} can't be removed again`);
  if (build(command) !== 0) throw new Error(`the copy does not build without ${patch}`);
  return outcome === 'failed' ? 'caught' : outcome;
}

function apply(patch, ...more) {
  return spawnSync('git', ['apply', '--whitespace=nowarn', ...more, patch], { cwd: copy }).status;
}

/** Returns the exit code, which is 0 if there is nothing to build. */
function build(command) {
  if (command === undefined) return 0;
  return spawnSync(command, { cwd: copy, stdio: 'ignore', shell: true }).status;
}

/**
 * Returns "passed" if at least one test ran and all passed, or "failed" if a test failed. A file that can't be loaded
 * counts as neither.
 */
function run(args) {
  const report = join(copy, 'planted-report.json');
  rmSync(report, { force: true });
  const vitest = ['vitest', 'run', ...args, '--maxWorkers=1', '--reporter=json', `--outputFile=${report}`];
  const { status } = spawnSync('npx', vitest, { cwd: copy, stdio: 'ignore', timeout: LIMIT_MS, killSignal: 'SIGKILL' });
  if (status === null) return 'timed out';
  const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(report, 'utf8'));
  if (failed > 0) return 'failed';
  return passed > 0 && status === 0 ? 'passed' : 'did not run';
}
