// node scripts/test-changed.mjs [BASE]    runs the tests that may be affected by changes since BASE
// The default is HEAD, which covers uncommitted changes. `npm run test:changed -- BASE` builds first. Vitest knows
// which tests import a file. This script adds the tests that start a program built from the file, and those that read
// it.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Each program's entry points, and the module through which tests start it. */
const PROGRAMS = [
  {
    entries: ['src/main.ts', 'src/admin/main.ts', 'src/domain/market/source-worker.ts'],
    startedBy: 'test/support/process.ts',
  },
  { entries: ['src/cli/main.ts'], startedBy: 'test/support/cli/gpu.ts' },
  { entries: ['src/agent/main.ts'], startedBy: 'test/support/hosts/agent-process.ts' },
  { entries: ['web/main.tsx'], startedBy: 'test/support/console/pages.ts' },
];
/** Matches files that any test may depend on. */
const EVERYTHING =
  /^(package(-lock)?\.json|tsconfig.*|vitest\.config\.ts|prisma\/.*|test\/support\/(global-setup|each-file|template-cluster|database)\.ts)$/;
const MODULE = /\.(ts|tsx)$/;

const base = process.argv[2] ?? 'HEAD';
const changed = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')];
process.exitCode = changed.length === 0 ? 0 : runTests(changed);
if (changed.length === 0) console.log(`Nothing changed since ${base}.`);

function runTests(files) {
  const options = ['--run', '--passWithNoTests', '--exclude', 'test/long/**'];
  const reason = files.find((file) => EVERYTHING.test(file));
  if (reason !== undefined) {
    console.log(`${reason} may affect any test; running all of them.`);
    return vitest(options);
  }
  const started = PROGRAMS.filter(({ entries }) => meets(inputs(entries), files)).map(({ startedBy }) => startedBy);
  const others = files.filter((file) => !MODULE.test(file) || !existsSync(join(ROOT, file)));
  return vitest([
    'related',
    ...options,
    ...files.filter((file) => !others.includes(file)),
    ...started,
    ...readersOf(others),
  ]);
}

function vitest(args) {
  return spawnSync('npx', ['vitest', ...args], { cwd: ROOT, stdio: 'inherit' }).status ?? 1;
}

function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);
}

const meets = (inputs, files) => files.some((file) => inputs.has(file));

/** Returns the entry points and all modules that they import, directly or indirectly. */
function inputs(entries) {
  const found = new Set();
  const queue = [...entries];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file) || !existsSync(join(ROOT, file))) continue;
    found.add(file);
    const { importedFiles } = ts.preProcessFile(readFileSync(join(ROOT, file), 'utf8'), true, true);
    for (const { fileName } of importedFiles.filter(({ fileName }) => fileName.startsWith('.'))) {
      const path = join(dirname(file), fileName);
      queue.push(path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx'));
    }
  }
  return found;
}

/** Returns the tests and helpers that mention one of these files, or a folder that contains it, in a string. */
function readersOf(files) {
  const names = new Set();
  for (const file of files) for (let path = file; path !== '.'; path = dirname(path)) names.add(path);
  return git('ls-files', 'test').filter((test) => {
    if (!MODULE.test(test) || !existsSync(join(ROOT, test))) return false;
    const text = readFileSync(join(ROOT, test), 'utf8');
    return [...names].some((name) => text.includes(`'${name}'`) || text.includes(`'${name}/`));
  });
}
