import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { visible } from '../std/visible.js';
import {
  type Finding,
  findingText,
  type StatementSummary,
  unreadFile,
  type VerifiedFile,
  verify,
} from '../verify/verify.js';
import { paint, printLines, printText } from './terminal.js';

const STDIN = '-';
const UNITS_PER_MICRO_USD = 3_600n;

export function addVerifyCommand(program: Command): void {
  program
    .command('verify <file...>')
    .description('Check signed statements and other proofs offline')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Reads keys, signed statements, roots, and inclusion and consistency proofs, in
any order; "-" reads stdin. Add the keys, roots and statements that you stored
earlier to compare the new ones with them.

Exits with 0 if everything verifies, 1 if something doesn't, and 2 if something
can't be checked.`,
    )
    .action(async (paths: string[], { json }: { json?: boolean }) => {
      const files: VerifiedFile[] = [];
      const unread: Finding[] = [];
      for (const path of paths) {
        try {
          files.push({ name: path === STDIN ? 'stdin' : path, content: await contentOf(path) });
        } catch (error) {
          unread.push(unreadFile(path, (error as NodeJS.ErrnoException).code ?? (error as Error).message));
        }
      }
      const result = verify(files, unread);
      const { exitCode, faults, unchecked, statements, keys, roots } = result;
      process.exitCode = exitCode;
      if (json) return printText(JSON.stringify(result));
      printLines([
        ...faults.map((each) => lineOf('FAULT', each)),
        ...unchecked.map((each) => lineOf('unchecked', each)),
      ]);
      if (exitCode !== 0) return;
      printLines(statements.flatMap(summaryOf));
      printLines([
        `${paint(process.stdout, 'green', 'Everything verifies')}: ${counted(statements.length, 'statement')}, ${counted(keys, 'key')}, ${counted(roots, 'root')}`,
      ]);
    });
}

async function contentOf(path: string): Promise<Uint8Array> {
  if (path !== STDIN) return readFile(path);
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function lineOf(kind: 'FAULT' | 'unchecked', finding: Finding): string {
  const { check, file, where } = finding;
  const label = paint(
    process.stdout,
    kind === 'FAULT' ? 'red' : 'yellow',
    kind === 'FAULT' ? `FAULT (${check})` : kind,
  );
  return `${label} ${visible(`${file}${where === '' ? '' : ':'} ${findingText(finding)}`)}`;
}

function summaryOf({
  account,
  from,
  to,
  lines,
  opening,
  change,
  closing,
  covered,
  invoiceHash,
}: StatementSummary): string[] {
  const proof =
    covered === null ? 'no root covers it yet' : `covered up to link ${covered.link} by root ${covered.root}`;
  return [
    `${visible(account)}, ${from} to ${to}: ${counted(lines, 'line')}, ${proof}`,
    `  ${usd(opening)} ${change.startsWith('-') ? '−' : '+'} ${usd(change.replace('-', ''))} = ${usd(closing)} USD`,
    `  hash on the invoice: ${invoiceHash}`,
  ];
}

/** Formats an amount in units exactly, except that it leaves out what is less than a micro-USD. */
function usd(units: string): string {
  const amount = BigInt(units);
  const micro = (amount < 0n ? -amount : amount) / UNITS_PER_MICRO_USD;
  return `${amount < 0n ? '−' : ''}${micro / 1_000_000n}.${(micro % 1_000_000n).toString().padStart(6, '0')}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
