import type { Command } from 'commander';
import type { Balance } from '../client/index.js';
import { DEFAULT_BASE_URL } from '../client/send.js';
import { EXIT, Failure } from './failure.js';
import { orNull } from './runtime.js';
import { connect, openSession, settingsFor } from './session.js';
import { loginFile, masked, removeLogin, writeLogin } from './settings.js';
import { type Output, show, type View } from './show.js';
import { serviceCreditThisMonth } from './statements.js';
import { card, formatUsd } from './table.js';
import { canPrompt, done, printLines, promptSecret, readAll, remark } from './terminal.js';

/** The balance and, if known, the amount credited by the service this month. */
type ShownBalance = Balance & { serviceCredit?: number };

const BALANCE: View<ShownBalance> = {
  lines: ({ balance, month_spend, serviceCredit = 0 }) =>
    card([
      ['Balance', `${formatUsd(balance)} USD`, balance > 0 ? 'green' : 'red'],
      ['Spent this month', `${formatUsd(month_spend)} USD`],
      ...(serviceCredit === 0 ? [] : [['Service credit this month', `${formatUsd(serviceCredit)} USD`] as const]),
    ]),
  ids: () => [],
};

const CONFIG_NOTES = `
Environment:
  GPU_API_KEY   API key; overrides the one saved by \`gpu login\`
  GPU_BASE_URL  Service URL with its path prefix; overrides the one saved by
                \`gpu login\` (default: ${DEFAULT_BASE_URL})
  NO_COLOR      Any value turns colours off

Exit codes:
  0    Done
  1    Refused by the service; stderr says why
  2    Wrong usage, or not confirmed; nothing was changed
  3    No connection to the service, or no usable response
  130  Interrupted`;

export function addAccountCommands(program: Command): void {
  program
    .command('balance')
    .description("Show your credit and this month's spend")
    .option('--json', "Print the service's JSON response unchanged")
    .action((options: Output, command: Command) => {
      const session = openSession(command, { needsKey: true });
      return show(
        session,
        options,
        async (client): Promise<ShownBalance> => {
          const balance = await client.balance.get();
          const serviceCredit = options.json ? null : await orNull(serviceCreditThisMonth(session.settings));
          return { ...balance, ...(serviceCredit !== null && { serviceCredit }) };
        },
        BALANCE,
      );
    });
  program
    .command('login')
    .description('Check and save an API key, typed without echo or read from stdin')
    .action((_options: object, command: Command) => login(command));
  program
    .command('logout')
    .description('Remove the saved API key')
    .action(() => {
      const file = loginFile(process.env);
      printLines([removeLogin(file) ? `${file} has been removed` : 'no API key was saved']);
      if (process.env.GPU_API_KEY) remark('GPU_API_KEY is still set.');
    });
  program
    .command('config')
    .description('Show the settings in effect and their sources')
    .addHelpText('after', CONFIG_NOTES)
    .action((_options: object, command: Command) => {
      const { baseUrl, apiKey, file, loggedInElsewhere } = settingsFor(command);
      const key = apiKey === null ? 'none' : `${masked(apiKey.value)}  (${apiKey.from})`;
      printLines(
        card([
          ['Service', `${baseUrl.value}  (${baseUrl.from})`],
          ['API key', key],
          ['Login', loggedInElsewhere === null ? file : `${file}, for ${loggedInElsewhere}`],
        ]),
      );
    });
}

async function login(command: Command): Promise<void> {
  const settings = settingsFor(command);
  const { file, baseUrl } = settings;
  if (process.stdin.isTTY && !canPrompt())
    throw new Failure(EXIT.usage, 'no terminal to prompt on; pipe the API key to stdin');
  const apiKey = process.stdin.isTTY
    ? await promptSecret(`API key for ${baseUrl.value} (not shown): `)
    : (await readAll(process.stdin)).trim();
  if (apiKey === '') throw new Failure(EXIT.usage, 'no API key was given; type it, or pipe it to stdin');
  const { body } = await connect(settings, apiKey).request((client) => client.balance.get());
  writeLogin(file, baseUrl.value, apiKey);
  printLines([done(`Logged in as ${masked(apiKey)}, balance ${formatUsd(body.balance)} USD`)]);
  remark(`Saved in ${file}, readable only by you.`);
  if (process.env.GPU_API_KEY) remark('GPU_API_KEY is set and overrides it.');
}
