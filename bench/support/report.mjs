import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { isPinned } from './programs.mjs';
import { RESULTS, settings } from './settings.mjs';

/**
 * Returns the rows as aligned columns, the first row being the heading. The columns listed in `right` are
 * right-aligned.
 */
export function table(rows, right = []) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((text, column) => (right.includes(column) ? text.padStart(widths[column]) : text.padEnd(widths[column])))
      .join('  ')
      .trimEnd();
  return [line(rows[0]), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.slice(1).map(line)].join('\n');
}

export function whole(number) {
  return Math.round(number).toLocaleString('en-US');
}

/** Describes the conditions of a run, without which its figures are meaningless. */
export function head(connections) {
  const cores = isPinned
    ? 'the measured process on core 0; load generator and PostgreSQL on core 1'
    : 'NOT PINNED (no taskset, or only one core): ratios mean little';
  return [
    `${cpus()[0]?.model.trim()}, Node ${process.version}, ${cores}`,
    `${settings.rounds} rounds of ${settings.seconds} s in turn, after a warm-up; ${connections} connections; medians of the rounds`,
    'gateway: one process, default log to a file, RATE_LIMIT_PER_MINUTE=1000000; peers log nothing. PostgreSQL 18, fsync on',
  ];
}

/** Writes a JSON file next to those of earlier runs and returns its path. */
export function save(name, connections, content) {
  mkdirSync(RESULTS, { recursive: true });
  const at = new Date().toISOString();
  const file = join(RESULTS, `${name}-${at.slice(0, 19).replaceAll(':', '-')}.json`);
  writeFileSync(file, `${JSON.stringify({ at, head: head(connections), settings, ...content }, null, 2)}\n`);
  return file;
}
