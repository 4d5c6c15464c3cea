import type { Command } from 'commander';
import { type AuditReport, audit, type Finding } from '../domain/billing/audit.js';
import type { KernelDeps } from '../domain/kernel/deps.js';
import { auditLog } from '../domain/proof/audit-log.js';
import { type Column, type Output, print, printJson } from './output.js';
import type { Run } from './run.js';

const COLUMNS: readonly Column<Finding>[] = [
  ['ACCOUNT', ({ accountId }) => accountId || '-'],
  ['SUBJECT', ({ subject }) => subject || '-'],
  ['CHECK', ({ check }) => check],
  ['FOUND', ({ detail }) => detail],
];

export function addAuditCommand(program: Command, run: Run): void {
  program
    .command('audit')
    .description('Recompute all accounts, and exit with 1 on any mismatch')
    .option('--json', 'Print JSON')
    .action((options: Output) => run((deps) => runAudit(deps, options)));
}

/** Audits the books and the public log. */
export async function auditAll(deps: Pick<KernelDeps, 'db'>, connections?: number): Promise<AuditReport> {
  const report = await audit(deps, connections);
  return { ...report, findings: [...report.findings, ...(await auditLog(deps))] };
}

/** Prints the findings, and sets exit code 1 if there are any. */
export async function runAudit(deps: Pick<KernelDeps, 'db'>, options: Output): Promise<void> {
  const report = await auditAll(deps);
  show(report, options);
  if (report.findings.length > 0) process.exitCode = 1;
}

function show(
  { accounts, instances, ledgerEntries, unchainedAccounts, findings }: AuditReport,
  { json }: Output,
): void {
  if (json) {
    const found = findings.map(({ check, accountId, subject, detail }) => ({
      check,
      account_id: accountId,
      subject,
      detail,
    }));
    printJson({
      accounts,
      instances,
      ledger_entries: ledgerEntries,
      unchained_accounts: unchainedAccounts,
      findings: found,
    });
    return;
  }
  if (findings.length > 0) print(findings, COLUMNS);
  if (unchainedAccounts > 0) {
    const history = unchainedAccounts === 1 ? 'history of 1 account' : `histories of ${unchainedAccounts} accounts`;
    process.stdout.write(`The gateway is still chaining the ${history}, which the audit checks only in part\n`);
  }
  const verdict = ['no mismatch', '1 mismatch'][findings.length] ?? `${findings.length} mismatches`;
  process.stdout.write(`${accounts} accounts, ${instances} instances, ${ledgerEntries} ledger entries: ${verdict}\n`);
}
