import { visible } from '../figures/visible.js';
import { actionItem } from '../parts/actions.js';
import { copyIdItem } from '../parts/copy-id.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import type { Instance } from '../state/account.js';
import { deployAgain } from '../state/deploy-again.js';
import { go } from '../state/location.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/instance-menu.js';
import { texts as launch } from '../texts/en/launch.js';

interface Props {
  instance: Instance;
  /** Opens the dialog that changes the instance's labels. Omitted where labels can't be changed. */
  onEditLabels?(instance: Instance): void;
}

/** The "⋯" menu of an instance's row, with the actions allowed by its state. */
export function InstanceMenu({ instance, onEditLabels }: Props) {
  const { id, status, runtime } = instance;
  const name = visible(instance.name);
  const isLive = status !== 'DESTROYED';
  const open = (tab: 'terminal' | 'log') => () => go(`/instances/${id}?tab=${tab}`);
  const items: (MenuItem | false)[] = [
    status === 'RUNNING' &&
      runtime !== null && { name: texts.terminal, icon: 'square-terminal', onChoose: open('terminal') },
    isLive && runtime !== null && { name: texts.log, icon: 'file-text', onChoose: open('log') },
    isLive && actionItem(instance, status === 'RUNNING' ? 'STOP' : 'START'),
    { name: launch.again, icon: 'rocket', onChoose: () => void deployAgain(id) },
    isLive &&
      onEditLabels !== undefined && { name: texts.editLabels, icon: 'tag', onChoose: () => onEditLabels(instance) },
    copyIdItem(id),
    isLive && actionItem(instance, 'DESTROY'),
  ];
  return <Menu label={house.actionsOf(name)} items={items.filter((item) => item !== false)} />;
}
