import { micro, rate } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { doings, screens, texts } from '../texts/en/commands.js';
import { language } from '../texts/en/locale.js';
import { texts as machines } from '../texts/en/machines.js';
import { LANGUAGES } from '../texts/languages.js';
import { settled } from './account.js';
import { type Action, askedAction } from './asked-action.js';
import type { Command } from './command-search.js';
import { STATES } from './history-filter.js';
import { chooseLanguage } from './language.js';
import { go } from './location.js';
import { modelName, models } from './market.js';
import { pathOfSearch, savedSearches } from './saved-searches.js';
import { session, signOut } from './session.js';
import { overlay } from './shortcuts.js';
import { takeBack, undoable } from './toasts.js';

/** By address. */
const SCREENS = [
  ['/', 'house'],
  ['/machines', 'server'],
  ['/instances', 'square-terminal'],
  ['/instances?show=history', 'history'],
  ['/volumes', 'hard-drive'],
  ['/money', 'wallet'],
  ['/keys', 'key-round'],
  ['/activity', 'activity'],
  ['/webhooks', 'webhook'],
] as const;

/** Screens that need no key. */
const OPEN = new Set<string>(['/machines']);

const DOINGS = [
  ['/deploy', doings.rent, 'rocket'],
  ['/money', doings.credit, 'credit-card'],
  ['/keys', doings.key, 'key-round'],
  ['/keys', doings.sshKey, 'terminal'],
  ['/volumes', doings.volume, 'hard-drive'],
  ['/webhooks', doings.notice, 'bell'],
] as const;

const ICONS: Record<Action, string> = { STOP: 'pause', START: 'play', DESTROY: 'trash-2' };

/** Number of instances shown while nothing is typed. */
const FIRST_INSTANCES = 5;

/** Returns all current commands of the palette, in the order of its groups. */
export function allCommands(): readonly Command[] {
  const isIn = session.value === 'in';
  return [
    ...(isIn ? instanceCommands() : []),
    ...screenCommands(isIn),
    ...searchCommands(),
    ...doingCommands(isIn),
    ...modelCommands(),
  ];
}

function instanceCommands(): Command[] {
  return (settled.value?.instances ?? []).flatMap((instance, place) => {
    const { id, gpu, numGpus, status, template } = instance;
    const called = visible(instance.name);
    const about = texts.about(numGpus, modelName(gpu), STATES[status]);
    const known = `${id} ${visible(template)} ${texts.instanceWords}`;
    const one = (key: string, name: string, icon: string, isFirst: boolean, run: () => void, words = ''): Command => ({
      id: `${key} ${id}`,
      group: texts.groups.instances,
      name,
      hint: about,
      words: `${known} ${words}`,
      icon,
      isFirst,
      run,
    });
    const actions: Action[] = status === 'RUNNING' ? ['STOP', 'DESTROY'] : ['START', 'DESTROY'];
    return [
      one('open', called, 'square-terminal', place < FIRST_INSTANCES, () => go(`/instances/${id}`)),
      one('log', texts.logOf(called), 'file-text', false, () => go(`/instances/${id}?tab=log`)),
      ...actions.map((action) =>
        one(
          action,
          texts.act(action, called),
          ICONS[action],
          false,
          () => {
            askedAction.value = { instance, action };
          },
          texts.actWords[action],
        ),
      ),
    ];
  });
}

function screenCommands(isIn: boolean): Command[] {
  return SCREENS.filter(([to]) => isIn || OPEN.has(to)).map(([to, icon]) => ({
    id: to,
    group: texts.groups.screens,
    name: screens[to]![0],
    hint: '',
    words: screens[to]![1],
    icon,
    isFirst: true,
    run: () => go(to),
  }));
}

function doingCommands(isIn: boolean): Command[] {
  const one = (name: string, icon: string, words: string, run: () => void): Command => ({
    id: name,
    group: texts.groups.do,
    name,
    hint: '',
    words,
    icon,
    isFirst: true,
    run,
  });
  const does = ([name, words]: readonly string[], icon: string, run: () => void) => one(name!, icon, words!, run);
  const last = undoable();
  return [
    ...(last === undefined ? [] : [one(doings.undo[0]!, 'undo-2', last.text, () => void takeBack(last))]),
    ...DOINGS.filter(([to]) => isIn || to === '/deploy').map(([to, doing, icon]) => does(doing, icon, () => go(to))),
    does(doings.shortcuts, 'keyboard', () => {
      overlay.value = 'shortcuts';
    }),
    does(doings.graphql, 'code', () => location.assign('/graphql')),
    ...LANGUAGES.filter(({ code }) => code !== language).map(({ code, name }) =>
      one(texts.language(name), 'globe', texts.languageWords, () => chooseLanguage(code)),
    ),
    isIn ? does(doings.signOut, 'log-out', () => void signOut()) : does(doings.signIn, 'log-in', () => go('/sign-in')),
  ];
}

/** Returns the searches of machines that this browser keeps. */
function searchCommands(): Command[] {
  return savedSearches.value.map((one) => ({
    id: `search ${one.name}`,
    group: machines.saved,
    name: visible(one.name),
    hint: '',
    words: one.search,
    icon: 'star',
    isFirst: true,
    run: () => go(pathOfSearch(one)),
  }));
}

function modelCommands(): Command[] {
  return [...models.value.values()].map(({ slug, name, vramGb, availableGpus, pricePerGpuHour }) => ({
    id: slug,
    group: texts.groups.models,
    name,
    hint: texts.model(availableGpus, rate(micro(pricePerGpuHour.onDemand))),
    words: `${slug} ${slug.replaceAll('-', '')} ${vramGb} ${texts.modelWords}`,
    icon: 'cpu',
    isFirst: false,
    run: () => go(`/machines?gpu=${slug}`),
  }));
}
