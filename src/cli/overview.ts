import type { Command } from 'commander';
import { alignColumns } from '../std/columns.js';

/** A line in the overview: its commands, and a text unless their own descriptions are used. */
type Line = readonly [names: string, text?: string];

const GROUPS: Readonly<Record<string, readonly Line[]>> = {
  Browse: [['pricing'], ['offers, memory', "List machines, or show a model's memory needs"]],
  Rent: [
    ['deploy', 'Rent a machine'],
    ['run', 'Run a command on a new instance, then destroy it'],
    ['attach, wait', 'Follow a run, or wait for its exit code'],
    ['instances'],
    ['show, launch', 'Show an instance, or its launch settings'],
    ['start, stop', 'Start or stop an instance'],
    ['move'],
    ['destroy'],
    ['deadline, idle', 'Show or set when an instance stops automatically'],
    ['label'],
    ['top, metrics', 'Show the load of instances, now or over time'],
    ['timeline'],
  ],
  Connect: [['ssh'], ['cp, open', 'Copy files, or open a web port in the browser'], ['logs'], ['ssh-key']],
  Data: [['volume'], ['secret'], ['template']],
  Money: [
    ['balance, limit', 'Show your credit, or show or set a spend limit'],
    ['statement'],
    ['invoice'],
    ['topup, topups', 'Pay in cryptocurrency, or list your top-ups'],
  ],
  Account: [
    ['login, logout', 'Save or remove an API key'],
    ['config'],
    ['key, passkey', 'Manage API keys, or passkeys for the console'],
    ['billing', 'Show or replace your name and address on invoices'],
    ['activity'],
  ],
  Automation: [
    ['webhook, mail', 'Manage webhooks, or send events by email'],
    ['verify, proof', 'Check signed statements, or fetch further proofs'],
    ['mcp'],
    ['completion'],
  ],
};
const NOTES: Readonly<Record<string, readonly Line[]>> = {
  Examples: [
    ['gpu deploy "$(gpu offers --gpu rtx-4090 --limit 1 --quiet)" --ssh'],
    ['gpu run --gpu rtx-4090 -v . --out results -- python train.py'],
  ],
  Help: [['gpu COMMAND --help; gpu config --help for settings and exit codes']],
};

/** Formats the output of `gpu --help`, which shows all commands on one screen, by group. */
export function overview({ commands }: Command): string {
  const descriptions = new Map(commands.map((command) => [command.name(), command.description()]));
  const linesOf = (groups: typeof GROUPS) =>
    Object.entries(groups).flatMap(([heading, group]) =>
      group.map(([names, text = descriptions.get(names)], index) => {
        return [index === 0 ? heading : '', names, ...(text === undefined ? [] : [text])];
      }),
    );
  const usage = 'Usage: gpu [--base-url <url>] [--version] [--help] <command>';
  return [usage, '', ...alignColumns([...linesOf(GROUPS), [''], ...linesOf(NOTES)]), ''].join('\n');
}
