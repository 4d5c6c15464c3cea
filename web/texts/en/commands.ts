import type { Action } from '../../state/pending-action.js';
import type { NavigationPath } from '../../state/screens.js';
import type { ShortcutName } from '../../state/shortcuts.js';

/** The palette and the list of shortcuts. An entry is found by its name or its keywords, which are never shown. */
export const texts = {
  label: 'Command palette',
  field: 'What are you looking for?',
  placeholder: 'Search screens, instances, models and actions',
  results: 'Results',
  nothing: 'No results',
  tryOther: 'No results. Try fewer letters or another word.',
  groups: { instances: 'Instances', screens: 'Screens', actions: 'Actions', models: 'Models' },
  about: (count: number, model: string, state: string) => `${count} × ${model}, ${state}`,
  instanceKeywords: 'instance',
  logOf: (instance: string) => `Log of ${instance}`,
  act: (action: Action, instance: string) =>
    `${{ STOP: 'Stop', START: 'Start', DESTROY: 'Destroy' }[action]} ${instance}`,
  actionKeywords: { STOP: '', START: '', DESTROY: '' } satisfies Record<Action, string> as Record<Action, string>,
  model: (free: number, price: string) => `${free} free, ${price} USD per GPU-hour`,
  modelKeywords: 'gb rent',
  language: (name: string) => `Language: ${name}`,
  languageKeywords: 'language sprache english englisch german deutsch',

  shortcuts: 'Keyboard shortcuts',
  /** Between two keys that are pressed in sequence. */
  next: ' then ',
  singleKeys: 'Use single-key shortcuts in this browser',
};

/** Keywords of the screens by URL. */
export const screenKeywords: Record<NavigationPath, string> = {
  '/': 'go to start overview attention',
  '/machines': 'go to gpus offers prices search rent',
  '/models': 'go to llm language memory vram vllm hugging face calculator',
  '/instances': 'go to rentals running servers pods',
  '/instances?show=history': 'go to instances destroyed past',
  '/volumes': 'go to disks storage',
  '/billing': 'go to balance credit money spend statement invoices limits',
  '/keys': 'go to secrets api tokens ssh registry logins',
  '/activity': 'go to audit log who did what',
  '/notifications': 'go to webhooks mail email alerts notices',
};

/** [name, keywords]. */
export const tasks = {
  rent: ['Deploy the cheapest match', 'deploy new instance launch create machine'],
  credit: ['Add credit', 'top up pay deposit bitcoin monero'],
  key: ['Create API key', 'token new'],
  sshKey: ['Add SSH key', 'public key new'],
  volume: ['Create volume', 'disk storage new'],
  notifications: ['Set up notifications', 'webhook mail email notice alert new'],
  undo: ['Undo last action', ''],
  shortcuts: ['Show keyboard shortcuts', 'help keys'],
  graphql: ['Explore the GraphQL API', 'graphiql docs query'],
  signOut: ['Sign out', 'leave end session'],
  signIn: ['Sign in', 'api key account'],
};

export const shortcuts: Record<ShortcutName, string> = {
  sheet: 'Show these shortcuts',
  search: 'Search this screen, or everywhere',
  undo: 'Undo last action',
  rent: 'Deploy an instance',
  home: 'Go to Home',
  machines: 'Go to Machines',
  instances: 'Go to Instances',
  volumes: 'Go to Volumes',
  money: 'Go to Billing',
  keys: 'Go to Keys',
  activity: 'Go to Activity',
  webhooks: 'Go to Notifications',
};
