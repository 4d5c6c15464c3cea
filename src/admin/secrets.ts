import type { Command } from 'commander';
import { resealSecrets } from '../domain/secrets/reseal.js';
import { type Output, printJson } from './output.js';
import type { Run } from './run.js';

export function addSecretCommands(program: Command, run: Run): void {
  program
    .command('secret')
    .description("renters' secrets")
    .command('reseal')
    .description('encrypt all with the first key of SECRETS_KEY, after the key was turned over')
    .option('--json', 'print JSON')
    .action(({ json }: Output) =>
      run(async (deps) => {
        const resealed = await resealSecrets(deps);
        if (json) printJson({ resealed });
        else process.stdout.write(`${resealed} secrets are encrypted with the first key\n`);
      }),
    );
}
