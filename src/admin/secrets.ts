import type { Command } from 'commander';
import { resealSecrets } from '../domain/secrets/reseal.js';
import { type Output, printJson } from './output.js';
import type { Run } from './run.js';

export function addSecretCommands(program: Command, run: Run): void {
  program
    .command('secret')
    .description("Manage renters' secrets")
    .command('reseal')
    .description('Reseal all secrets with the first key in SECRETS_KEY after a key rotation')
    .option('--json', 'Print JSON')
    .action(({ json }: Output) =>
      run(async (deps) => {
        const resealed = await resealSecrets(deps);
        if (json) printJson({ resealed });
        else process.stdout.write(`resealed ${resealed} secrets with the first key\n`);
      }),
    );
}
