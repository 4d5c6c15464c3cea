import { spawn } from 'node:child_process';
import { type Command, InvalidArgumentError } from 'commander';
import { visibleButColours } from '../std/visible.js';
import { followGraphql, queryGraphql } from './graphql.js';
import { openSession } from './session.js';
import type { Settings } from './settings.js';
import { printLines, remark } from './terminal.js';

const LINK = `mutation ($id: ID!, $port: Int, $path: String) { webLink(id: $id, port: $port, path: $path) { url } }`;
const TOKEN = 'mutation ($id: ID!, $port: Int) { webToken(id: $id, port: $port) { token header url expiresAt } }';
const LINKS = 'query ($id: ID!) { instanceLinks(id: $id) { links { port path } tokens { variable value inLink } } }';
const LINE = 'time stream text isPartial';
const LOGS = `query ($id: ID!, $tail: Int!) { instanceLogs(id: $id, tail: $tail) { ${LINE} } }`;
const FOLLOW = `subscription ($id: ID!, $tail: Int!) { instanceLogged(id: $id, tail: $tail) { ${LINE} } }`;
const DEFAULT_TAIL = 100;
const MAX_TAIL = 1_000;
/** Programs that open a URL in a desktop browser. */
const OPENERS: Partial<Record<NodeJS.Platform, [program: string, ...args: string[]]>> = {
  linux: ['xdg-open'],
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** An instance's named ports, with its web port first, and its generated values. */
interface Links {
  links: { port: number; path: string }[];
  tokens: { variable: string; value: string; inLink: boolean }[];
}

interface Line {
  time: string;
  stream: 'STDOUT' | 'STDERR';
  text: string;
  isPartial: boolean;
}

export function addWebCommands(program: Command): void {
  program
    .command('open <instance>')
    .description("Open an instance's web port in the browser")
    .option('--port <port>', 'Port, 1 to 65535 (default: the first web port)', whole(1, 65_535))
    .option('--path <path>', "Path to open (default: the port's own path, otherwise /)")
    .option('--no-browser', 'Only print the link')
    .option('--token', 'Print a token for programs instead; it is valid for a day')
    .addHelpText('after', '\nThe printed link works once, in one browser, within a minute.')
    .action(open);
  program
    .command('logs <instance>')
    .description('Print the logs of a running or stopped instance')
    .option('-f, --follow', 'Keep printing new lines as they are written')
    .option(
      '--tail <lines>',
      `Number of lines to show from the end, 0 to ${MAX_TAIL} (default: ${DEFAULT_TAIL})`,
      whole(0, MAX_TAIL),
    )
    .option('-t, --timestamps', 'Prefix each line with its time')
    .action(logs);
}

async function open(
  id: string,
  { port, path, browser, token }: { port?: number; path?: string; browser: boolean; token?: true },
  command: Command,
): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  if (token) return printToken(settings, id, port, path);
  const { links, tokens } = (await queryGraphql<{ instanceLinks: Links }>(settings, LINKS, { id })).instanceLinks;
  // If the page accepts a token in its URL, the link contains the token.
  const opened = port === undefined ? links[0] : links.find((each) => each.port === port);
  const variables = { id, port: port ?? opened?.port, path: path ?? opened?.path };
  const { webLink } = await queryGraphql<{ webLink: { url: string } }>(settings, LINK, variables);
  printLines([webLink.url]);
  for (const { variable, value } of tokens.filter(({ inLink }) => !inLink)) remark(`${variable}: ${value}`);
  remark('The link works once, in one browser, within a minute.');
  if (browser && process.stdout.isTTY) openBrowser(webLink.url);
}

/** Prints only the token to standard output, for scripts. */
async function printToken(settings: Settings, id: string, port: number | undefined, path = '/'): Promise<void> {
  interface Answer {
    webToken: { token: string; header: string; url: string; expiresAt: string };
  }
  const { webToken } = await queryGraphql<Answer>(settings, TOKEN, { id, port });
  printLines([webToken.token]);
  remark(`curl -H "${webToken.header}: $TOKEN" ${webToken.url}${path}`);
  remark(`Valid until ${webToken.expiresAt}, or until the API key is revoked.`);
}

/** Opens a link in the browser if there is a desktop. The link is printed in any case. */
function openBrowser(url: string): void {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env;
  const [program, ...args] = OPENERS[process.platform] ?? [];
  if (program === undefined || (process.platform === 'linux' && !DISPLAY && !WAYLAND_DISPLAY)) return;
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}

async function logs(
  id: string,
  { follow, tail = DEFAULT_TAIL, timestamps = false }: { follow?: boolean; tail?: number; timestamps?: boolean },
  command: Command,
): Promise<void> {
  const { settings } = openSession(command, { needsKey: true });
  const variables = { id, tail };
  const printer = new LogPrinter(timestamps);
  if (!follow) {
    const { instanceLogs } = await queryGraphql<{ instanceLogs: Line[] }>(settings, LOGS, variables);
    printer.print(instanceLogs);
    return printer.end();
  }
  const events = followGraphql<{ instanceLogged: Line[] }>(settings, FOLLOW, variables);
  for await (const { instanceLogged } of events) printer.print(instanceLogged);
}

/** Prints each line to its original stream. When a line has grown, prints only the added part. */
class LogPrinter {
  readonly #hasTimes: boolean;
  /** The last line, if it is incomplete. */
  #open: Line | null = null;

  constructor(hasTimes: boolean) {
    this.#hasTimes = hasTimes;
  }

  print(lines: readonly Line[]): void {
    for (const line of lines) {
      const to = streamOf(line);
      const open = this.#open;
      const grows = open?.stream === line.stream && open.time === line.time && line.text.startsWith(open.text);
      if (open !== null && !grows) streamOf(open).write('\n');
      const text = `${this.#hasTimes && !grows ? `${line.time} ` : ''}${grows ? line.text.slice(open.text.length) : line.text}`;
      to.write(`${to.isTTY ? visibleButColours(text) : text}${line.isPartial ? '' : '\n'}`);
      this.#open = line.isPartial ? line : null;
    }
  }

  /** Terminates the last line if it is incomplete. */
  end(): void {
    if (this.#open !== null) streamOf(this.#open).write('\n');
    this.#open = null;
  }
}

function streamOf({ stream }: Line): NodeJS.WriteStream {
  return stream === 'STDERR' ? process.stderr : process.stdout;
}

function whole(min: number, max: number) {
  return (text: string): number => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`must be a whole number from ${min} to ${max}.`);
  };
}
