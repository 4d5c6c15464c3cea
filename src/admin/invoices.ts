import type { Command } from 'commander';
import { invoice } from '../domain/proof/invoice.js';
import { type Output, printJson } from './output.js';
import type { Run } from './run.js';

export function addInvoiceCommand(program: Command, run: Run): void {
  program
    .command('invoice <account>')
    .description("Print an account's invoice for a UTC month as an HTML page")
    .requiredOption('--month <month>', 'UTC month, such as 2026-10')
    .option('--json', 'Print JSON, with the hash of the signed statement')
    .action((account: string, { month, json }: Output & { month: string }) =>
      run(async (deps) => {
        const { number, statementHash, html } = await invoice(deps, account, month);
        if (json) printJson({ number, statement_hash: statementHash, html });
        else process.stdout.write(html);
      }),
    );
}
