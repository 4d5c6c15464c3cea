import { type Command, InvalidArgumentError } from 'commander';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Settings } from './settings.js';
import { printText } from './terminal.js';

interface Roots {
  type: string;
  roots: { number: number }[];
}

const ROOTS = 'query ($after: Int) { document: logRoots(after: $after) }';
const CONSISTENCY = 'query ($first: Int!, $second: Int!) { document: logConsistency(first: $first, second: $second) }';

export function addProofCommands(program: Command): void {
  const proof = program.command('proof').description('Print the documents that prove bills, as JSON');
  proof
    .command('keys')
    .description('Print all keys that the service ever signed with')
    .action(async (_options: unknown, command: Command) => {
      const { settings } = openSession(command, { needsKey: false });
      print(await documentOf(settings, '{ document: signingKeys }'));
    });
  proof
    .command('roots')
    .description('Print the signed roots of the public log, oldest first')
    .option('--after <number>', 'Number of the root after which to begin (default: 0)', wholeNumber, 0)
    .action(async ({ after }: { after: number }, command: Command) => {
      const { settings } = openSession(command, { needsKey: false });
      print(await allRoots(settings, after));
    });
  proof
    .command('inclusion')
    .description("Print the proof that the newest root covers the account's ledger")
    .action(async (_options: unknown, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const document = await documentOf(settings, '{ document: logInclusion }');
      if (document === null)
        throw new Failure(EXIT.refused, 'no root covers the account yet; the service makes one every hour');
      print(document);
    });
  proof
    .command('consistency')
    .description('Print the proof that one tree of the public log extends another')
    .argument('<first>', 'Size of the older tree', wholeNumber)
    .argument('<second>', 'Size of the newer tree', wholeNumber)
    .action(async (first: number, second: number, _options: unknown, command: Command) => {
      const { settings } = openSession(command, { needsKey: false });
      print(await documentOf(settings, CONSISTENCY, { first, second }));
    });
}

/** Reads all pages of roots. */
async function allRoots(settings: Settings, after: number): Promise<Roots> {
  const page = (await documentOf(settings, ROOTS, { after })) as Roots;
  const last = page.roots.at(-1);
  if (last === undefined) return page;
  const { type, roots } = await allRoots(settings, last.number);
  return { type, roots: [...page.roots, ...roots] };
}

async function documentOf(settings: Settings, query: string, variables: object = {}): Promise<object | null> {
  const { document } = await queryGraphql<{ document: object | null }>(settings, query, variables);
  return document;
}

function print(document: object | null): void {
  printText(JSON.stringify(document));
}

function wholeNumber(given: string): number {
  if (/^\d{1,10}$/.test(given)) return Number(given);
  throw new InvalidArgumentError('must be a whole number.');
}
