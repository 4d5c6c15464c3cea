import type { Command } from 'commander';
import { keysDocument, type PublishedKey, rotateSigningKey } from '../domain/proof/signing-keys.js';
import { type Column, type Output, print, printJson } from './output.js';
import type { Run } from './run.js';

const COLUMNS: readonly Column<PublishedKey>[] = [
  ['KEY', ({ id }) => id],
  ['FROM', ({ from }) => from],
  ['UNTIL', ({ until }) => until ?? '-'],
  ['PUBLIC KEY', ({ publicKey }) => publicKey],
];

export function addSigningKeyCommands(program: Command, run: Run): void {
  const group = program.command('signing-key').description('Manage the keys that sign statements and roots');
  group
    .command('list')
    .description('List all keys ever used, oldest first')
    .option('--json', 'Print the document that is public at /.well-known/gpu-rental/keys.json')
    .action(({ json }: Output) =>
      run(async (deps) => {
        const document = await keysDocument(deps);
        if (json) printJson(document);
        else print(document.keys, COLUMNS);
      }),
    );
  group
    .command('rotate')
    .description('Add a key, endorsed by the previous one, that signs from a minute later')
    .option('--json', 'Print JSON')
    .action(({ json }: Output) =>
      run(async (deps) => {
        const key = await rotateSigningKey(deps);
        if (json) printJson(key);
        else process.stdout.write(`key ${key.id} signs from ${key.from}\n`);
      }),
    );
}
