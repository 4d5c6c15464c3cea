// node scripts/check-layout.mjs    compares two tables in the documentation with the source tree
// The table of folders in docs/architecture.md must name every folder directly under src and src/domain, and only
// existing paths. The table of own code in docs/internals.md must name only existing files, with sizes that are at most
// 20% off.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ARCHITECTURE = 'docs/architecture.md';
const INTERNALS = 'docs/internals.md';
/** Folders whose subfolders the table of folders must list. It doesn't list these folders themselves. */
const LISTED = ['src', 'src/domain'];
const MAX_DIFFERENCE = 0.2;
const CODE_SPAN = /`([^`]+)`/g;

/** Returns the cells of each row of the first table below the heading. Throws if there is no such table. */
function rowsBelow(page, heading) {
  const section =
    readFileSync(ROOT + page, 'utf8')
      .split(`\n## ${heading}\n`)[1]
      ?.split('\n## ')[0] ?? '';
  const [table = ''] = section.match(/(?:^\|.*\n)+/m) ?? [];
  const rows = table.trimEnd().split('\n').slice(2);
  if (rows.length === 0) throw new Error(`${page} has no table below "${heading}"`);
  return rows.map((row) => row.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
}

const pathsIn = (cell) => [...cell.matchAll(CODE_SPAN)].map(([, path]) => path);

function foldersIn(parent) {
  const entries = readdirSync(ROOT + parent, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${parent}/${name}`);
}

/** Returns the number of newlines, as `wc -l` counts them. */
function linesOf(path) {
  return readFileSync(ROOT + path, 'utf8').split('\n').length - 1;
}

function folderFaults() {
  const listed = rowsBelow(ARCHITECTURE, 'Folders').flatMap(([paths]) => pathsIn(paths));
  const required = LISTED.flatMap(foldersIn).filter((path) => !LISTED.includes(path));
  const missing = required.filter((path) => !listed.includes(path));
  return [
    ...missing.map((path) => `${ARCHITECTURE}: the table of folders lacks ${path}`),
    ...listed.filter((path) => !existsSync(ROOT + path)).map((path) => `${ARCHITECTURE}: ${path} does not exist`),
  ];
}

function ownCodeFaults() {
  return rowsBelow(INTERNALS, 'Own code instead of a library').flatMap(([file, stated]) => {
    const [path] = pathsIn(file);
    if (path === undefined || !existsSync(ROOT + path)) return [`${INTERNALS}: ${path ?? file} does not exist`];
    const lines = linesOf(path);
    if (Math.abs(Number(stated) - lines) <= MAX_DIFFERENCE * lines) return [];
    return [`${INTERNALS}: ${path} has ${lines} lines, not ${stated}; compare it with the library again`];
  });
}

const faults = [...folderFaults(), ...ownCodeFaults()];
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
