import { hashOf, tagged } from './crypto.js';
import { difference, type Findings } from './findings.js';
import { canonical, type Json } from './json.js';
import type { Given } from './keys.js';
import {
  type Entry,
  type Inclusion,
  isUsage,
  type Line,
  monthEnd,
  monthStart,
  type OpenUsage,
  type Statement,
  secondsOf,
} from './shapes.js';

type Period = Statement['period'];

/** Checks everything that a statement proves without keys and other documents. */
export function checkStatement(findings: Findings, { file, document }: Given<Statement>): void {
  checkPeriod(findings, file, document);
  document.links.forEach(({ record }, index) => {
    checkEntry(findings, file, `links[${index}].record`, record, document.account);
  });
  checkChain(findings, file, document);
  checkOpen(findings, file, document);
  checkLines(findings, file, document);
  checkSum(findings, file, document);
  checkLeaf(findings, file, document);
}

function checkPeriod(findings: Findings, file: string, { period, issuedAt }: Statement): void {
  const { from, to } = period;
  if (from !== monthStart(from)) findings.fault('format', file, 'period.from', `isn't the start of a month: ${from}`);
  if (issuedAt < from) findings.fault('format', file, 'issuedAt', `is ${issuedAt}, before the period`);
  const end = monthEnd(from);
  const expected = issuedAt < end ? issuedAt : end;
  if (to !== expected) findings.fault('format', file, 'period.to', `is ${to}; must be ${expected}`);
}

function checkEntry(findings: Findings, file: string, where: string, entry: Entry, account: string): void {
  const fault = (member: string, what: string, by: string | null = null) =>
    findings.fault('amount', file, `${where}.${member}`, what, by);
  if (entry.account !== account) fault('account', `is ${entry.account}, but the statement is for ${account}`);
  if (entry.charge === null) return;
  const { rate, seconds, startedAt, endedAt } = entry.charge;
  const [units, expected] = [BigInt(entry.units), -BigInt(rate) * BigInt(seconds)];
  if (units !== expected) {
    fault('units', `is ${units}, but −(rate × seconds) is ${expected}`, difference(units, expected, 'units'));
  }
  if (startedAt === null || endedAt === null) return;
  if (entry.at !== endedAt) fault('at', `is ${entry.at}, but the usage ended at ${endedAt}`);
  const length = secondsOf(endedAt) - secondsOf(startedAt);
  if (seconds === length) return;
  const by = difference(BigInt(seconds), BigInt(length), 's');
  fault('charge.seconds', `is ${seconds}, but the interval has ${length} s`, by);
}

/** Returns hash 0 of an account's chain. */
export function firstHash({ account, pseudonym }: Pick<Statement, 'account' | 'pseudonym'>): string {
  return hashOf(tagged('gpu-rental/chain/v1', { account, pseudonym }));
}

function checkChain(findings: Findings, file: string, statement: Statement): void {
  const { chain, links } = statement;
  const fault = (where: string, what: string) => findings.fault('chain', file, where, what);
  if (chain.from.number === 0 && chain.from.hash !== firstHash(statement)) {
    fault('chain.from.hash', 'is not hash 0 of this account and pseudonym');
  }
  // A wrong hash is reported once: the next link is compared with what follows from the stated one.
  let before = chain.from;
  links.forEach(({ number, hash, record }, index) => {
    if (number !== before.number + 1) fault(`links[${index}].number`, `is ${number} after ${before.number}`);
    const content = { number, previous: before.hash, record: record as Entry & Json };
    if (hash !== hashOf(tagged('gpu-rental/link/v1', content))) {
      fault(`links[${index}].hash`, `is not the hash of link ${number}, which holds ${record.id}`);
    }
    before = { number, hash };
  });
  if (chain.to.number !== before.number)
    fault('chain.to.number', `is ${chain.to.number}, but the last link is ${before.number}`);
  if (chain.to.hash !== before.hash) fault('chain.to.hash', `is not hash ${before.number}, with which the links end`);
}

function checkOpen(findings: Findings, file: string, { account, links, open, period }: Statement): void {
  const fault = (where: string, what: string) => findings.fault('lines', file, where, what);
  const ids = new Set<string>();
  links.forEach(({ record: { id } }, index) => {
    if (ids.has(id)) fault(`links[${index}].record.id`, `repeats ${id}`);
    ids.add(id);
  });
  open.forEach((usage, index) => {
    const where = `open[${index}]`;
    if (ids.has(usage.id)) fault(`${where}.id`, `repeats ${usage.id}`);
    ids.add(usage.id);
    if (usage.account !== account)
      fault(`${where}.account`, `is ${usage.account}, but the statement is for ${account}`);
    if (lineOfUsage(usage, null, period) === null) fault(where, `${usage.id} has no second in the period`);
  });
}

/** Checks that the lines are exactly those that follow from the records. */
function checkLines(findings: Findings, file: string, { links, open, lines, period }: Statement): void {
  const expected = new Map<string, Line>();
  const add = (line: Line | null) => line !== null && expected.set(line.id, line);
  for (const { number, record } of links) add(lineOfEntry(record, number, period));
  for (const usage of open) add(lineOfUsage(usage, null, period));
  const seen = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const where = `lines[${index}]`;
    const other = expected.get(line.id);
    if (other === undefined || seen.has(line.id)) {
      const what = other === undefined ? `${line.id} is in no record of the period` : `repeats ${line.id}`;
      findings.fault('lines', file, where, what, `${line.units} units`);
      continue;
    }
    seen.add(line.id);
    for (const name of Object.keys(other) as (keyof Line)[]) {
      const [actual, wanted] = [line[name], other[name]];
      if (actual === wanted) continue;
      findings.fault('lines', file, `${where}.${name}`, `is ${actual}; must be ${wanted}`, byOf(name, actual, wanted));
    }
  }
  for (const { id, units } of expected.values()) {
    if (!seen.has(id)) findings.fault('lines', file, 'lines', `has no line for ${id}`, `${units} units`);
  }
}

function byOf(name: keyof Line, actual: string | number | null, wanted: string | number | null): string | null {
  if (actual === null || wanted === null) return null;
  if (name === 'units' || name === 'rate')
    return difference(BigInt(actual), BigInt(wanted), name === 'units' ? name : 'micro-USD/h');
  if (name === 'seconds') return difference(BigInt(actual), BigInt(wanted), 's');
  return null;
}

/** Returns the line of an entry; null if it isn't within the period. */
function lineOfEntry(entry: Entry, number: number, period: Period): Line | null {
  const { id, kind, instance, volume, charge, units, at } = entry;
  if (isUsage(kind)) return lineOfUsage(entry, number, period);
  if (at < period.from || at >= period.to) return null;
  const { mode = null, rate = null, seconds = null } = charge ?? {};
  return { id, kind, instance, volume, number, mode, rate, seconds, from: at, to: at, units };
}

/** Returns the line of usage, open if it has no end; null if no second of it is within the period. */
function lineOfUsage(
  { id, kind, instance, volume, charge }: Entry | OpenUsage,
  number: number | null,
  period: Period,
): Line | null {
  if (charge === null || charge.startedAt === null) return null;
  const { mode, rate, startedAt, endedAt } = charge;
  const from = startedAt > period.from ? startedAt : period.from;
  const to = endedAt === null || endedAt > period.to ? period.to : endedAt;
  if (from >= to) return null;
  const seconds = secondsOf(to) - secondsOf(from);
  const units = (-BigInt(rate) * BigInt(seconds)).toString();
  return { id, kind, instance, volume, number, mode, rate, seconds, from, to, units };
}

function checkSum(findings: Findings, file: string, { opening, closing, lines }: Statement): void {
  const sum = lines.reduce((total, { units }) => total + BigInt(units), BigInt(opening));
  if (BigInt(closing) === sum) return;
  const by = difference(BigInt(closing), sum, 'units');
  findings.fault('balance', file, 'closing', `is ${closing}, but opening and lines add up to ${sum}`, by);
}

/** Checks that the leaf of the inclusion proof is one of the statement's hashes. */
function checkLeaf(findings: Findings, file: string, { pseudonym, chain, links, log }: Statement): void {
  if (log === null) return;
  const fault = (where: string, what: string) => findings.fault('inclusion', file, where, what);
  if (log.pseudonym !== pseudonym) fault('log.pseudonym', "isn't the statement's pseudonym");
  const link = [chain.from, ...links].find(({ number }) => number === log.number);
  if (link === undefined) fault('log.number', `is ${log.number}, but the statement has no hash with that number`);
  else if (link.hash !== log.head) fault('log.head', `is not hash ${log.number} of the statement`);
}

/** Maximum seconds by which open usage may have ended before the end of its period, because clocks differ. */
const MAX_LATE_SECONDS = 60;

/** Compares the statements of each account with each other, and with inclusion proofs. */
export function compareStatements(
  findings: Findings,
  given: readonly Given<Statement>[],
  inclusions: readonly Given<Inclusion>[],
): void {
  const comparison = new Comparison(findings);
  for (const each of given) comparison.addStatement(each);
  for (const each of given) comparison.compareOpen(each);
  for (const { file, document } of inclusions) {
    // Without a statement, the pseudonym identifies the chain.
    const account = comparison.accountOf(document.pseudonym) ?? document.pseudonym;
    comparison.addHash(account, document.number, document.head, file, 'head');
  }
}

/** A value of a statement, and the file of the statement. */
interface Said<Value> {
  value: Value;
  file: string;
}

class Comparison {
  readonly #findings: Findings;
  readonly #accounts = new Map<string, Said<string>>();
  readonly #pseudonyms = new Map<string, Said<string>>();
  readonly #hashes = new Map<string, Said<string>>();
  readonly #balances = new Map<string, Said<string>>();
  readonly #entries = new Map<string, Said<Entry>>();
  /** The first record of each open usage. */
  readonly #open = new Map<string, Said<OpenUsage>>();

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  accountOf(pseudonym: string): string | undefined {
    return this.#accounts.get(pseudonym)?.value;
  }

  addStatement({ file, document }: Given<Statement>): void {
    const { account, pseudonym, chain, links, open, period, opening, closing } = document;
    this.#add(this.#pseudonyms, account, pseudonym, { file, where: 'pseudonym', of: `pseudonym of ${account}` });
    this.#add(this.#accounts, pseudonym, account, { file, where: 'account', of: 'account with this pseudonym' });
    this.addHash(account, chain.from.number, chain.from.hash, file, 'chain.from.hash');
    links.forEach(({ number, hash, record }, index) => {
      this.addHash(account, number, hash, file, `links[${index}].hash`);
      this.#entries.set(keyOf(account, record.id), { value: record, file });
    });
    for (const usage of open) {
      const key = keyOf(account, usage.id);
      if (!this.#open.has(key)) this.#open.set(key, { value: usage, file });
    }
    this.#addBalance(document, file, 'opening', period.from, opening);
    if (period.to === monthStart(period.to)) this.#addBalance(document, file, 'closing', period.to, closing);
  }

  addHash(account: string, number: number, hash: string, file: string, where: string): void {
    this.#add(this.#hashes, keyOf(account, number), hash, { file, where, of: `hash ${number} of ${account}` });
  }

  /** Compares open usage with the entries, or else the open records, that other statements have for it. */
  compareOpen({ file, document: { account, open, period } }: Given<Statement>): void {
    open.forEach((usage, index) => {
      const key = keyOf(account, usage.id);
      const closed = this.#entries.get(key) ?? this.#open.get(key);
      if (closed === undefined || closed.file === file) return;
      const where = `open[${index}]`;
      for (const [name, mine, others] of comparedMembers(usage, closed.value)) {
        if (mine === others) continue;
        const by =
          name === 'charge.rate' ? difference(BigInt(mine as string), BigInt(others as string), 'micro-USD/h') : null;
        const what = `is ${mine}, but ${others} in the record in ${closed.file}`;
        this.#findings.fault('statements', file, `${where}.${name}`, what, by);
      }
      const { endedAt } = closed.value.charge ?? {};
      const early = endedAt == null ? 0 : secondsOf(period.to) - secondsOf(endedAt);
      if (early <= MAX_LATE_SECONDS) return;
      const what = `is open until ${period.to}, but ended at ${endedAt} by the entry in ${closed.file}`;
      this.#findings.fault('statements', file, where, what, difference(BigInt(early), 0n, 's'));
    });
  }

  #addBalance({ account }: Statement, file: string, where: string, at: string, units: string): void {
    const first = this.#add(this.#balances, keyOf(account, at), units, { file, where, of: null });
    if (first === units) return;
    const by = difference(BigInt(units), BigInt(first), 'units');
    const other = this.#balances.get(keyOf(account, at))?.file;
    this.#findings.fault(
      'statements',
      file,
      where,
      `is ${units}, but the balance at ${at} is ${first} in ${other}`,
      by,
    );
  }

  /** Records a value, and returns the first one recorded. Reports a fault if they differ and `of` names the value. */
  #add(
    values: Map<string, Said<string>>,
    key: string,
    value: string,
    { file, where, of }: { file: string; where: string; of: string | null },
  ): string {
    const first = values.get(key);
    if (first === undefined) values.set(key, { value, file });
    else if (first.value !== value && of !== null) {
      this.#findings.fault('statements', file, where, `is ${value}, but the ${of} is ${first.value} in ${first.file}`);
    }
    return first?.value ?? value;
  }
}

function keyOf(account: string, part: string | number): string {
  return canonical([account, part]);
}

function comparedMembers(usage: OpenUsage, entry: Entry | OpenUsage): [name: string, mine: unknown, others: unknown][] {
  const members = ['kind', 'instance', 'volume'] as const;
  const ofCharge = ['rate', 'startedAt', 'mode', 'gpu', 'numGpus', 'sizeGb'] as const;
  return [
    ...members.map((name): [string, unknown, unknown] => [name, usage[name], entry[name]]),
    ...ofCharge.map((name): [string, unknown, unknown] => [
      `charge.${name}`,
      usage.charge[name],
      entry.charge?.[name] ?? null,
    ]),
  ];
}
