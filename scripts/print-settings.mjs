// Writes .env.example and docs/configuration.md from the settings table in the built code. With --check, it only checks
// that both files are up to date.
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { SETTINGS } from '../dist/src/compose/config.js';

const rows = Object.entries(SETTINGS);

function printEnvExample() {
  const lines = rows.flatMap(([variable, { about, unset, default: value = '' }]) => [
    `# ${about}${unset === undefined ? '' : ` If unset: ${unset}.`}`,
    `${variable}=${/\s/.test(value) ? `"${value}"` : value}`,
  ]);
  const head =
    '# Copy to .env and change what you need. Each variable shows its default. Nothing after the = means unset.';
  return `${head}\n\n${lines.join('\n')}\n`;
}

const PAGE_HEAD = `<!-- Written by \`npm run settings\` from the table in src/compose/config.ts; do not edit. -->
# Configuration

The gateway and the operator commands read their settings from the environment, or from a \`.env\` file in the working
directory. The environment takes precedence. [\`.env.example\`](../.env.example) lists every variable with its default. An
empty variable counts as unset. If any values are invalid, the program doesn't start, and prints one line per invalid
variable with the values that it accepts.
`;

function printPage() {
  const groups = [...new Set(rows.map(([, { group }]) => group))];
  const sections = groups.map((group) => {
    const members = rows.filter(([, row]) => row.group === group);
    const lines = members.map(([variable, row]) => {
      const value = row.default === undefined ? `unset: ${row.unset}` : `\`${row.default}\``;
      return `| \`${variable}\` | ${value} | ${escaped(row.about)} | ${row.takes.description} |`;
    });
    return `## ${group}\n\n| variable | default | description | accepted values |\n| --- | --- | --- | --- |\n${lines.join('\n')}\n`;
  });
  return [PAGE_HEAD, ...sections].join('\n');
}

// Markdown would interpret <domain> as a tag.
function escaped(about) {
  return about.replaceAll('<', '\\<');
}

async function writeOrCheck(name, printed) {
  const file = fileURLToPath(new URL(`../${name}`, import.meta.url));
  if (!process.argv.includes('--check')) await writeFile(file, printed);
  else if ((await readFile(file, 'utf8').catch(() => '')) !== printed) {
    console.error(`${name} does not match src/compose/config.ts; run \`npm run settings\``);
    process.exitCode = 1;
  }
}

await writeOrCheck('.env.example', printEnvExample());
await writeOrCheck('docs/configuration.md', printPage());
