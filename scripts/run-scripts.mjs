// Prints what runs in the container of a run for the Python SDK, from src/run/scripts.ts: one source, so that each client finds
// the other's runs. With --check: fails when the file is not as it would be printed.
import { readFileSync, writeFileSync } from 'node:fs';
import { KEEPER, NAME, NOTHING_THERE, SCRIPTS } from '../dist/src/run/scripts.js';

const FILE = 'sdk/python/gpu_rental/run_scripts.py';
const text = (script) => `r'''${script}'''`;
const scripts = Object.entries(SCRIPTS).map(([name, script]) => `    "${name}": ${text(script)},\n`);
const wanted = `"""What runs in the container of a run. Made by scripts/run-scripts.mjs from src/run/scripts.ts: change that."""

NAME = "${NAME}"
#: What \`\`send\`\` ends with when there is no such path.
NOTHING_THERE = ${NOTHING_THERE}
KEEPER = ${text(KEEPER)}
SCRIPTS = {
${scripts.join('')}}
`;
if (wanted.includes("''''")) throw new Error('a script has three quotes in a row');
if (!process.argv.includes('--check')) writeFileSync(FILE, wanted);
else if (readFileSync(FILE, 'utf8') !== wanted) {
  console.error(`${FILE} does not match src/run/scripts.ts; run: npm run schema`);
  process.exitCode = 1;
}
