import { micro, rate } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { settled } from './account.js';
import { type Action, askedAction } from './asked-action.js';
import type { Command } from './command-search.js';
import { STATES } from './history-filter.js';
import { go } from './location.js';
import { modelName, models } from './market.js';
import { session, signOut } from './session.js';
import { overlay } from './shortcuts.js';
import { takeBack, undoable } from './toasts.js';

const SCREENS = [
  ['/', 'Home', 'house', 'start overview attention'],
  ['/machines', 'Machines', 'server', 'gpus offers prices search rent'],
  ['/instances', 'Instances', 'square-terminal', 'rentals running servers pods'],
  ['/instances?show=history', 'History of instances', 'history', 'destroyed past'],
  ['/volumes', 'Volumes', 'hard-drive', 'disks storage'],
  ['/money', 'Money', 'wallet', 'balance credit billing spend statement invoices limits'],
  ['/keys', 'Keys and secrets', 'key-round', 'api tokens ssh registry logins'],
  ['/activity', 'Activity', 'activity', 'audit log who did what'],
  ['/webhooks', 'Notices', 'webhook', 'webhooks mail alerts'],
] as const;

/** For those without a key. */
const OPEN = new Set<string>(['/machines']);

const DOINGS = [
  ['/machines?deploy=best', 'Rent the best machine that fits', 'rocket', 'deploy new instance launch create'],
  ['/money', 'Add credit', 'credit-card', 'top up pay deposit bitcoin monero'],
  ['/keys', 'Create an API key', 'key-round', 'token new'],
  ['/keys', 'Add an SSH key', 'terminal', 'public key new'],
  ['/volumes', 'Create a volume', 'hard-drive', 'disk storage new'],
  ['/webhooks', 'Be told of events', 'bell', 'webhook mail notice new'],
] as const;

const ACTIONS: Record<Action, readonly [name: string, icon: string]> = {
  STOP: ['Stop', 'pause'],
  START: ['Start', 'play'],
  DESTROY: ['Destroy', 'trash-2'],
};

/** Of instances, where nothing is typed. */
const FIRST_INSTANCES = 5;

/** All that the palette can do now, in the order of its groups. */
export function allCommands(): readonly Command[] {
  const isIn = session.value === 'in';
  return [...(isIn ? instanceCommands() : []), ...screenCommands(isIn), ...doings(isIn), ...modelCommands()];
}

function instanceCommands(): Command[] {
  return (settled.value?.instances ?? []).flatMap((instance, place) => {
    const { id, gpu, numGpus, status, template } = instance;
    const name = visible(instance.name);
    const about = `${numGpus} × ${modelName(gpu)}, ${STATES[status]}`;
    const words = `${id} ${visible(template)} instance`;
    const one = (key: string, text: string, icon: string, isFirst: boolean, run: () => void): Command => ({
      id: `${key} ${id}`,
      group: 'Instances',
      name: text,
      hint: about,
      words,
      icon,
      isFirst,
      run,
    });
    const actions: Action[] = status === 'RUNNING' ? ['STOP', 'DESTROY'] : ['START', 'DESTROY'];
    return [
      one('open', name, 'square-terminal', place < FIRST_INSTANCES, () => go(`/instances/${id}`)),
      one('log', `Log of ${name}`, 'file-text', false, () => go(`/instances/${id}?tab=log`)),
      ...actions.map((action) =>
        one(action, `${ACTIONS[action][0]} ${name}`, ACTIONS[action][1], false, () => {
          askedAction.value = { instance, action };
        }),
      ),
    ];
  });
}

function screenCommands(isIn: boolean): Command[] {
  return SCREENS.filter(([to]) => isIn || OPEN.has(to)).map(([to, name, icon, words]) => ({
    id: to,
    group: 'Screens',
    name,
    hint: '',
    words: `go to ${words}`,
    icon,
    isFirst: true,
    run: () => go(to),
  }));
}

function doings(isIn: boolean): Command[] {
  const one = (name: string, icon: string, words: string, run: () => void): Command => ({
    id: name,
    group: 'Do',
    name,
    hint: '',
    words,
    icon,
    isFirst: true,
    run,
  });
  const shown = DOINGS.filter(([to]) => isIn || to.startsWith('/machines'));
  const last = undoable();
  return [
    ...(last === undefined ? [] : [one('Undo what was just done', 'undo-2', last.text, () => void takeBack(last))]),
    ...shown.map(([to, name, icon, words]) => one(name, icon, words, () => go(to))),
    one('Show keyboard shortcuts', 'keyboard', 'help keys', () => {
      overlay.value = 'shortcuts';
    }),
    one('Look at the GraphQL API', 'code', 'graphiql docs query', () => location.assign('/graphql')),
    isIn
      ? one('Sign out', 'log-out', 'leave end session', () => void signOut())
      : one('Sign in', 'log-in', 'api key account', () => go('/sign-in')),
  ];
}

function modelCommands(): Command[] {
  return [...models.value.values()].map(({ slug, name, vramGb, availableGpus, pricePerGpuHour }) => ({
    id: slug,
    group: 'Models',
    name,
    hint: `${availableGpus} free, ${rate(micro(pricePerGpuHour.onDemand))} USD per GPU-hour`,
    words: `${slug} ${slug.replaceAll('-', '')} ${vramGb} gb rent`,
    icon: 'cpu',
    isFirst: false,
    run: () => go(`/machines?gpu=${slug}`),
  }));
}
