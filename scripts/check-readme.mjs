// node scripts/check-readme.mjs [FILE]    runs the shell examples of README.md, or of the given file, against a new gateway
// Each `sh` block must print the content of the block that follows it, or nothing if there is none. Ids, times and
// amounts that grow with time are masked on both sides. Blocks with npm commands are skipped, because they need the
// checkout rather than a gateway.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { withFreshGateway } from './fresh-gateway.mjs';

const SHOWN_ADDRESS = 'http://127.0.0.1:4000';
const INSTANCE_ID = /\bi-[0-9a-f]{8}\b/g;
const MOVING = /"(balance|month_spend|gpuSeconds|diskSeconds|gpuCost|diskCost|total)":\d+(\.\d+)?/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;
const EXAMPLE = /^```sh\n(.*?)^```\n(?:```(?:json|text)\n(.*?)^```\n)?/gms;
const ASSIGNMENT = /^[A-Z]+=.*$/gm;

/** Returns the shell blocks in order, each with its first line number and its expected output. */
function examplesOf(text) {
  return [...text.matchAll(EXAMPLE)]
    .map(({ index, 1: shell, 2: shown = '' }) => ({ shell, shown, line: text.slice(0, index).split('\n').length }))
    .filter(({ shell }) => !/^npm /m.test(shell));
}

function masked(text) {
  return text.trim().replaceAll(INSTANCE_ID, 'i-*').replaceAll(TIME, 'TIME').replaceAll(MOVING, '"$1":*');
}

async function runAll(examples, { address, key }) {
  let assignments = '';
  let newestId = '';
  for (const { shell, shown, line } of examples) {
    const script = shell
      .replaceAll(SHOWN_ADDRESS, address)
      .replaceAll(/gpu_live_\S+/g, key)
      .replaceAll(INSTANCE_ID, newestId);
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', assignments + script]);
    assignments += `${(script.match(ASSIGNMENT) ?? []).join('\n')}\n`;
    newestId = stdout.match(INSTANCE_ID)?.[0] ?? newestId;
    const printed = stdout.replaceAll(address, SHOWN_ADDRESS);
    if (masked(printed) === masked(shown)) continue;
    throw new Error(`the example in line ${line} shows\n${shown}\nbut printed\n${printed}`);
  }
}

const file = resolve(process.argv[2] ?? 'README.md');
const examples = examplesOf(await readFile(file, 'utf8'));
if (examples.length === 0) throw new Error(`${file} has no shell examples`);
try {
  await withFreshGateway((gateway) => runAll(examples, gateway));
} catch (error) {
  console.error(`${file}: ${error.message}`);
  process.exitCode = 1;
}
