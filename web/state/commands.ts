import { micro, rate } from '../figures/money.js';
import { statusOf } from '../figures/status.js';
import { visible } from '../figures/visible.js';
import { screenKeywords, tasks, texts } from '../texts/en/commands.js';
import { texts as instances } from '../texts/en/instances.js';
import { language } from '../texts/en/locale.js';
import { texts as searches } from '../texts/en/saved.js';
import { screens } from '../texts/en/screens.js';
import { states } from '../texts/en/status.js';
import { LANGUAGES } from '../texts/languages.js';
import { settled } from './account.js';
import type { Command } from './command-search.js';
import { chooseLanguage } from './language.js';
import { go } from './location.js';
import { modelName, models } from './market.js';
import { type Action, pendingAction } from './pending-action.js';
import { type SavedKind, saved } from './saved-searches.js';
import { HISTORY, MODELS, PRIMARY, SECONDARY } from './screens.js';
import { session, signOut } from './session.js';
import { overlay } from './shortcuts.js';
import { undoable, undoToast } from './toasts.js';

/** Screens by URL. */
const SCREENS = [...PRIMARY, MODELS, [HISTORY, 'history'] as const, ...SECONDARY];

/** Screens that don't need a key. */
const OPEN = new Set<string>(['/machines', '/models']);

const TASKS = [
  ['/deploy', tasks.rent, 'rocket'],
  ['/billing', tasks.credit, 'credit-card'],
  ['/keys', tasks.key, 'key-round'],
  ['/keys', tasks.sshKey, 'terminal'],
  ['/volumes', tasks.volume, 'hard-drive'],
  ['/notifications', tasks.notifications, 'bell'],
] as const;

const ICONS: Record<Action, string> = { STOP: 'pause', START: 'play', DESTROY: 'trash-2' };

/** Number of instances shown before anything is typed. */
const FIRST_INSTANCES = 5;

/** Returns all of the palette's current commands, in the order of its groups. */
export function allCommands(): readonly Command[] {
  const isIn = session.value === 'in';
  return [
    ...(isIn ? instanceCommands() : []),
    ...screenCommands(isIn),
    ...searchCommands('machines'),
    ...(isIn ? searchCommands('instances') : []),
    ...taskCommands(isIn),
    ...modelCommands(),
  ];
}

function instanceCommands(): Command[] {
  return (settled.value?.instances ?? []).flatMap((instance, place) => {
    const { id, gpu, numGpus, status, template } = instance;
    const called = visible(instance.name);
    const about = texts.about(numGpus, modelName(gpu), states[statusOf(instance)]);
    const known = `${id} ${visible(template)} ${texts.instanceKeywords}`;
    const one = (
      key: string,
      name: string,
      icon: string,
      isFirst: boolean,
      run: () => void,
      keywords = '',
    ): Command => ({
      id: `${key} ${id}`,
      group: texts.groups.instances,
      name,
      hint: about,
      keywords: `${known} ${keywords}`,
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
            pendingAction.value = { instance, action };
          },
          texts.actionKeywords[action],
        ),
      ),
    ];
  });
}

function screenCommands(isIn: boolean): Command[] {
  return SCREENS.filter(([to]) => isIn || OPEN.has(to)).map(([to, icon]) => ({
    id: to,
    group: texts.groups.screens,
    name: to === HISTORY ? instances.historyTitle : screens[to],
    hint: '',
    keywords: screenKeywords[to],
    icon,
    isFirst: true,
    run: () => go(to),
  }));
}

function taskCommands(isIn: boolean): Command[] {
  const one = (name: string, icon: string, keywords: string, run: () => void): Command => ({
    id: name,
    group: texts.groups.actions,
    name,
    hint: '',
    keywords,
    icon,
    isFirst: true,
    run,
  });
  const task = ([name, keywords]: readonly string[], icon: string, run: () => void) => one(name!, icon, keywords!, run);
  const last = undoable();
  return [
    ...(last === undefined ? [] : [one(tasks.undo[0]!, 'undo-2', last.text, () => void undoToast(last))]),
    ...TASKS.filter(([to]) => isIn || to === '/deploy').map(([to, labels, icon]) => task(labels, icon, () => go(to))),
    task(tasks.shortcuts, 'keyboard', () => {
      overlay.value = 'shortcuts';
    }),
    task(tasks.graphql, 'code', () => location.assign('/graphql')),
    ...LANGUAGES.filter(({ code }) => code !== language).map(({ code, name }) =>
      one(texts.language(name), 'globe', texts.languageKeywords, () => chooseLanguage(code)),
    ),
    isIn ? task(tasks.signOut, 'log-out', () => void signOut()) : task(tasks.signIn, 'log-in', () => go('/sign-in')),
  ];
}

/** Returns a list's searches stored in this browser. */
function searchCommands(kind: SavedKind): Command[] {
  const { all, pathOf } = saved(kind);
  return all.value.map((one) => ({
    id: `${kind} ${one.name}`,
    group: searches[kind].title,
    name: visible(one.name),
    hint: '',
    keywords: one.search,
    icon: 'star',
    isFirst: true,
    run: () => go(pathOf(one)),
  }));
}

function modelCommands(): Command[] {
  return [...models.value.values()].map(({ slug, name, vramGb, availableGpus, pricePerGpuHour }) => ({
    id: slug,
    group: texts.groups.models,
    name,
    hint: texts.model(availableGpus, rate(micro(pricePerGpuHour.onDemand))),
    keywords: `${slug} ${slug.replaceAll('-', '')} ${vramGb} ${texts.modelKeywords}`,
    icon: 'cpu',
    isFirst: false,
    run: () => go(`/machines?gpu=${slug}`),
  }));
}
