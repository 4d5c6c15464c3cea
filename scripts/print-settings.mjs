// Writes .env.example and docs/configuration.md from the table of settings in the built code; with --check it only says
// whether the files are as they would be written.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { SETTINGS } from '../dist/src/config.js';

const rows = Object.entries(SETTINGS);

function printEnvExample() {
  const lines = rows.flatMap(([variable, { about, unset, default: value = '' }]) => [
    `# ${about}${unset === undefined ? '' : ` Not set: ${unset}.`}`,
    `${variable}=${/\s/.test(value) ? `"${value}"` : value}`,
  ]);
  const head =
    '# Copy to .env and change what you need. Each variable has its default; nothing after the = means not set.';
  return `${head}\n\n${lines.join('\n')}\n`;
}

const PAGE_HEAD = `<!-- Written by \`npm run settings\` from the table in src/config.ts; do not edit. -->
# Configuration

The gateway and the operator commands read their settings from the environment, or from a \`.env\` file in the working
directory; the environment wins. [\`.env.example\`](../.env.example) lists every variable with its default. A variable set to
nothing counts as not set. A wrong value ends the start with one line for each wrong variable, which names it and says what
it takes.
`;

function printPage() {
  const groups = [...new Set(rows.map(([, { group }]) => group))];
  const sections = groups.map((group) => {
    const members = rows.filter(([, row]) => row.group === group);
    const lines = members.map(([variable, row]) => {
      const value = row.default === undefined ? `not set: ${row.unset}` : `\`${row.default}\``;
      return `| \`${variable}\` | ${value} | ${escaped(row.about)} | ${row.takes.description} |`;
    });
    return `## ${group}\n\n| variable | default | what it is | what it takes |\n| --- | --- | --- | --- |\n${lines.join('\n')}\n`;
  });
  return [PAGE_HEAD, ...sections].join('\n');
}

// Markdown would take <domain> for a tag.
function escaped(about) {
  return about.replaceAll('<', '\\<');
}

async function writeOrCheck(name, printed) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  if (!process.argv.includes('--check')) await writeFile(file, printed);
  else if ((await readFile(file, 'utf8').catch(() => '')) !== printed) {
    console.error(`${name} is not what src/config.ts says: run \`npm run settings\``);
    process.exitCode = 1;
  }
}

await writeOrCheck('.env.example', printEnvExample());
await writeOrCheck('docs/configuration.md', printPage());
