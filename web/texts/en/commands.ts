import type { Action } from '../../state/asked-action.js';
import type { ShortcutName } from '../../state/shortcuts.js';

/** The palette and the sheet of shortcuts. `words`: other words that something is found by; they are never shown. */
export const texts = {
  label: 'Find and do',
  lookingFor: 'What are you looking for?',
  find: 'Find a screen, an instance, a model, or something to do',
  found: 'What was found',
  nothing: 'Nothing is found',
  tryOther: 'Nothing is found. Try fewer letters, or another word.',
  groups: { instances: 'Instances', screens: 'Screens', do: 'Do', models: 'Models' },
  about: (count: number, model: string, state: string) => `${count} × ${model}, ${state}`,
  instanceWords: 'instance',
  logOf: (instance: string) => `Log of ${instance}`,
  act: (action: Action, instance: string) =>
    `${{ STOP: 'Stop', START: 'Start', DESTROY: 'Destroy' }[action]} ${instance}`,
  actWords: { STOP: '', START: '', DESTROY: '' } satisfies Record<Action, string> as Record<Action, string>,
  model: (free: number, price: string) => `${free} free, ${price} USD per GPU-hour`,
  modelWords: 'gb rent',
  language: (name: string) => `Language: ${name}`,
  languageWords: 'language sprache english englisch german deutsch',

  sheet: 'Keyboard shortcuts',
  /** Between two keys that are pressed one after the other. */
  next: ' then ',
  singleKeys: 'Single keys do something in this browser',
};

/** [name, words] by address. */
export const screens = {
  '/': ['Home', 'go to start overview attention'],
  '/machines': ['Machines', 'go to gpus offers prices search rent'],
  '/instances': ['Instances', 'go to rentals running servers pods'],
  '/instances?show=history': ['History of instances', 'go to destroyed past'],
  '/volumes': ['Volumes', 'go to disks storage'],
  '/money': ['Money', 'go to balance credit billing spend statement invoices limits'],
  '/keys': ['Keys and secrets', 'go to api tokens ssh registry logins'],
  '/activity': ['Activity', 'go to audit log who did what'],
  '/webhooks': ['Notices', 'go to webhooks mail alerts'],
} satisfies Record<string, readonly [name: string, words: string]> as Record<string, readonly [string, string]>;

/** [name, words]. */
export const doings = {
  rent: ['Rent the best machine that fits', 'deploy new instance launch create'],
  credit: ['Add credit', 'top up pay deposit bitcoin monero'],
  key: ['Create an API key', 'token new'],
  sshKey: ['Add an SSH key', 'public key new'],
  volume: ['Create a volume', 'disk storage new'],
  notice: ['Be told of events', 'webhook mail notice new'],
  undo: ['Undo what was just done', ''],
  shortcuts: ['Show keyboard shortcuts', 'help keys'],
  graphql: ['Look at the GraphQL API', 'graphiql docs query'],
  signOut: ['Sign out', 'leave end session'],
  signIn: ['Sign in', 'api key account'],
};

/** What each does. */
export const shortcuts: Record<ShortcutName, string> = {
  sheet: 'Show these shortcuts',
  search: 'Search on this screen, or everywhere',
  undo: 'Undo what was just done',
  rent: 'Rent a machine',
  home: 'Go to Home',
  machines: 'Go to Machines',
  instances: 'Go to Instances',
  volumes: 'Go to Volumes',
  money: 'Go to Money (balance)',
  keys: 'Go to Keys',
  activity: 'Go to Activity',
  webhooks: 'Go to Webhooks',
};
