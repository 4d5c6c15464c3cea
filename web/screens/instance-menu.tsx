import { visible } from '../figures/visible.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import type { Instance } from '../state/account.js';
import { deployAgain } from '../state/deploy-again.js';
import { go } from '../state/location.js';
import { plainMessageOf } from '../state/messages.js';
import { type Action, pendingAction } from '../state/pending-action.js';
import { say } from '../state/toasts.js';
import { texts as actions } from '../texts/en/actions.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/instance-menu.js';

const ICONS = { STOP: 'pause', START: 'play', DESTROY: 'trash-2' } as const satisfies Record<Action, string>;

interface Props {
  instance: Instance;
  /** Opens the dialog that changes the instance's labels. Omitted where labels can't be changed. */
  onEditLabels?(instance: Instance): void;
}

/** The "⋯" menu of an instance's row, with the actions allowed by its state. */
export function InstanceMenu({ instance, onEditLabels }: Props) {
  const { id, status, runtime } = instance;
  const name = visible(instance.name);
  const act = (action: Action): MenuItem => ({
    name: actions[action].name,
    icon: ICONS[action],
    label: actions[action].label(name),
    isDanger: action === 'DESTROY',
    onChoose: () => {
      pendingAction.value = { instance, action };
    },
  });
  const isLive = status !== 'DESTROYED';
  const open = (tab: 'terminal' | 'log') => () => go(`/instances/${id}?tab=${tab}`);
  const again = () => deployAgain(id).catch((fault) => say(plainMessageOf(fault), { isBad: true }));
  const items: (MenuItem | false)[] = [
    status === 'RUNNING' &&
      runtime !== null && { name: texts.terminal, icon: 'square-terminal', onChoose: open('terminal') },
    isLive && runtime !== null && { name: texts.log, icon: 'file-text', onChoose: open('log') },
    isLive && act(status === 'RUNNING' ? 'STOP' : 'START'),
    { name: texts.again, icon: 'copy', onChoose: () => void again() },
    isLive &&
      onEditLabels !== undefined && { name: texts.editLabels, icon: 'tag', onChoose: () => onEditLabels(instance) },
    isLive && act('DESTROY'),
  ];
  return <Menu label={house.actionsOf(name)} items={items.filter((item) => item !== false)} />;
}
