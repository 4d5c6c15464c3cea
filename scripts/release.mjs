// Called by `npm version`. Moves the entries under "Unreleased" in CHANGELOG.md to a section for the version in
// package.json. With --check, it only fails if there are no entries.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(process.cwd(), 'CHANGELOG.md');
const HEADING = '## Unreleased\n';

const text = readFileSync(FILE, 'utf8');
const start = text.indexOf(HEADING);
const after = start + HEADING.length;
const [entries] = text.slice(after).split('\n## ', 1);
if (start < 0 || !/^- /m.test(entries)) {
  console.error('CHANGELOG.md has no entries under "Unreleased", so there is nothing to release');
  process.exit(1);
}
if (!process.argv.includes('--check')) {
  const { version } = JSON.parse(readFileSync(join(process.cwd(), 'package.json'), 'utf8'));
  const section = `\n## ${version} - ${new Date().toISOString().slice(0, 10)}\n`;
  writeFileSync(FILE, text.slice(0, after) + section + text.slice(after));
}
