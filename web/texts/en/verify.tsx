import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  title: 'Verify statements',
  what: 'You or your accountant can check that a statement adds up and hasn’t been changed since it was issued, not even by this service.',
  drop: 'Drop your files here',
  how: 'How to verify a statement',
  getStatement: 'Get the statement',
  statementFrom: (billing: ComponentChildren) => <>Under {billing}, choose “Download” and “Signed JSON”.</>,
  getProofs: 'Get the proofs',
  savedProofs: 'The service’s keys and public log, which you saved with this page.',
  giveAll: 'Drop all files',
  giveAllBelow: 'Each one is marked with its result.',
  example: 'Example of a result',
  experts: 'Other files and proofs',
  which:
    'Signed statements, keys, entries of the public log (its roots), and inclusion and consistency proofs, in any order. Add the keys, log entries and statements that you stored earlier to compare the new ones with them. You can also save this page and use it without this service.',
  choose: 'Choose files',
  fromService: (keys: ComponentChildren, roots: ComponentChildren) => (
    <>
      Download the {keys} and the {roots}. They show who signed it and when.
    </>
  ),
  keys: 'public keys',
  roots: 'public log',
  offline: 'Your files stay in this browser: this page sends nothing and works offline.',

  something: 'Something does not verify',
  nothingWrong: 'Nothing is wrong, but something can’t be checked',
  everything: (statements: number, keys: number, roots: number) => {
    const parts = [
      plural(statements, { one: '1 statement', other: `${number(statements)} statements` }),
      plural(keys, { one: '1 key', other: `${number(keys)} keys` }),
      plural(roots, { one: '1 log entry', other: `${number(roots)} log entries` }),
    ];
    return `Everything verifies: ${parts.join(', ')}`;
  },
  files: 'Files',
  states: { sound: 'verified', fault: 'does not verify', unchecked: 'can’t be checked' },
  removeFile: (name: string) => `Remove ${name}`,
  /** Parts of the verification, which introduce what is wrong. */
  checks: {
    format: 'Format',
    keys: 'Keys',
    amount: 'Amount',
    chain: 'Chain',
    lines: 'Lines',
    balance: 'Balance',
    signature: 'Signature',
    inclusion: 'Inclusion',
    roots: 'Public log',
    consistency: 'Consistency',
    statements: 'Statements',
    unchecked: 'Unchecked',
  },
  line: (line: number) => `Line ${line}:`,
  more: (count: number) => `and ${number(count)} more`,

  account: 'Account',
  period: 'Period',
  linesAdd: (lines: number) =>
    plural(lines, {
      one: '1 line, with the right amount',
      other: `${number(lines)} lines, each with the right amount`,
    }),
  sum: (opening: string, isNegative: boolean, change: string, closing: ComponentChildren) => (
    <>
      {opening} {isNegative ? '−' : '+'} {change} = {closing} USD
    </>
  ),
  signed: 'valid, by one of the keys',
  log: 'Public log',
  notCovered: 'not covered yet',
  /** Up to which entry of the account a root covers the statement. */
  covered: (link: number, root: number) =>
    `account entries up to ${number(link)}, covered by entry ${number(root)} of the public log`,
  invoiceHash: 'Hash on the invoice',
};
