import { type Command, InvalidArgumentError } from 'commander';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Output } from './show.js';
import { printLines, printText } from './terminal.js';

type Labels = Readonly<Record<string, string>>;
interface Labelled {
  id: string;
  labels: Labels;
}

const READ = 'query ($id: ID!) { subject: instance(id: $id) { id labels } }';
const SET = `mutation ($id: ID!, $labels: Labels!, $remove: [String!]!) {
  subject: setLabels(id: $id, labels: $labels, remove: $remove) { id labels } }`;

/** Parses a `key=value` option and adds it to the labels parsed so far. */
export function addLabel(text: string, before: Labels = {}): Labels {
  const label = labelOf(text);
  if (label === null) throw new InvalidArgumentError('must be key=value.');
  return { ...before, ...label };
}

function labelOf(text: string): Labels | null {
  const [, key, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
  return key === undefined || value === undefined ? null : { [key]: value };
}

export function addLabelCommand(program: Command): void {
  program
    .command('label <instance>')
    .argument('[change...]', 'key=value sets a label, and key- removes it')
    .description("Show or change an instance's labels")
    .option('--json', "Print the service's JSON response unchanged")
    .action(async (id: string, changes: string[], { json }: Output, command: Command) => {
      const { settings } = openSession(command, { needsKey: true });
      const change = changeOf(changes);
      const document = changes.length === 0 ? READ : SET;
      const { subject } = await queryGraphql<{ subject: Labelled | null }>(settings, document, { id, ...change });
      if (subject === null) throw new Failure(EXIT.refused, `no such instance: ${visible(id)}`);
      if (json) return printText(JSON.stringify(subject));
      printLines(
        Object.entries(subject.labels)
          .sort()
          .map(([key, value]) => `${visible(key)}=${visible(value)}`),
      );
    });
}

/** Returns the labels to set and the keys to remove. */
function changeOf(changes: readonly string[]): { labels: Labels; remove: string[] } {
  let labels: Labels = {};
  const remove: string[] = [];
  for (const text of changes) {
    const label = labelOf(text);
    if (label !== null) labels = { ...labels, ...label };
    else if (/^[^=]+-$/.test(text)) remove.push(text.slice(0, -1));
    else throw new Failure(EXIT.usage, `change must be key=value or key-; got ${visible(text)}`);
  }
  return { labels, remove };
}
