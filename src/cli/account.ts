import type { Command } from 'commander';
import type { Balance } from '../client/index.js';
import { EXIT, Failure } from './failure.js';
import { orNothing } from './runtime.js';
import { connect, openSession, settingsFor } from './session.js';
import { loginFile, masked, removeLogin, writeLogin } from './settings.js';
import { type Output, show, type View } from './show.js';
import { givenBackThisMonth } from './statements.js';
import { card, formatUsd } from './table.js';
import { askSecret, canAsk, done, printLines, readAll, remark } from './terminal.js';

/** `givenBack`: amount credited by the service this month, if known. */
type SeenBalance = Balance & { givenBack?: number };

const BALANCE: View<SeenBalance> = {
  lines: ({ balance, month_spend, givenBack = 0 }) =>
    card([
      ['Balance', `${formatUsd(balance)} USD`, balance > 0 ? 'green' : 'red'],
      ['Spent this month', `${formatUsd(month_spend)} USD`],
      ...(givenBack === 0 ? [] : [['Given back this month', `${formatUsd(givenBack)} USD`] as const]),
    ]),
  ids: () => [],
};

export function addAccountCommands(program: Command): void {
  program
    .command('balance')
    .description('credit left and spend this month, accurate to the second')
    .option('--json', "print the service's answer as it is")
    .action((options: Output, command: Command) => {
      const session = openSession(command, { needsKey: true });
      return show(
        session,
        options,
        async (client): Promise<SeenBalance> => {
          const balance = await client.balance.get();
          const givenBack = options.json ? null : await orNothing(givenBackThisMonth(session.settings));
          return { ...balance, ...(givenBack !== null && { givenBack }) };
        },
        BALANCE,
      );
    });
  program
    .command('login')
    .description('check and save an API key: typed without echo, or read from stdin')
    .action((_options: object, command: Command) => login(command));
  program
    .command('logout')
    .description('remove the saved API key')
    .action(() => {
      const file = loginFile(process.env);
      printLines([removeLogin(file) ? `${file} is removed` : 'there was no login']);
      if (process.env.GPU_API_KEY) remark('GPU_API_KEY is still set.');
    });
  program
    .command('config')
    .description('the settings in effect, and their sources')
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
  if (process.stdin.isTTY && !canAsk())
    throw new Failure(EXIT.usage, 'there is no terminal to ask at: pipe the key to stdin');
  const apiKey = process.stdin.isTTY
    ? await askSecret(`API key for ${baseUrl.value} (not shown): `)
    : (await readAll(process.stdin)).trim();
  if (apiKey === '') throw new Failure(EXIT.usage, 'no key was given');
  const { body } = await connect(settings, apiKey).ask((client) => client.balance.get());
  writeLogin(file, baseUrl.value, apiKey);
  printLines([done(`Logged in as ${masked(apiKey)}, balance ${formatUsd(body.balance)} USD`)]);
  remark(`Kept in ${file}, readable only by you.`);
  if (process.env.GPU_API_KEY) remark('GPU_API_KEY is set and overrides it.');
}
