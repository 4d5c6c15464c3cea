import { useSignal } from '@preact/signals';
import { type Labels, labelChanges, labelsOf, requirementsOf } from '../figures/labels.js';
import { visible } from '../figures/visible.js';
import { SetLabels } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { LabelField } from '../parts/labels.js';
import { type Instance, takeInstances } from '../state/account.js';
import { say } from '../state/toasts.js';
import { texts as bulk } from '../texts/en/bulk.js';
import { texts } from '../texts/en/instance-menu.js';
import { MAX_CONCURRENT } from './bulk.js';

interface Props {
  /** The instances. All labels of a single one can be changed. Several only get additional labels. */
  of: readonly Instance[];
  onClose(): void;
}

/** Changes the labels of one or more instances. */
export function LabelDialog({ of: targets, onClose }: Props) {
  const only = targets.length === 1 ? targets[0] : undefined;
  const typed = useSignal(only === undefined ? '' : requirementsOf(only.labels).join(', '));
  const change = async () => {
    const changes = labelChanges(only?.labels ?? {}, labelsOf(typed.value));
    if (changes === null) return;
    await changeAll(targets, changes);
    say(only === undefined ? bulk.labelled(targets.length) : texts.saved(visible(only.name)));
  };
  return (
    <EditDialog
      title={only === undefined ? bulk.addLabels(targets.length) : texts.labelsOf(visible(only.name))}
      change={change}
      onClose={onClose}
    >
      <LabelField
        label={texts.labels}
        value={typed.value}
        onType={(text) => {
          typed.value = text;
        }}
      />
    </EditDialog>
  );
}

/** Makes the same change to all instances. It can be repeated after a failure, because it sets labels to fixed values. */
async function changeAll(targets: readonly Instance[], changes: { labels: Labels; remove: string[] }): Promise<void> {
  const waiting = [...targets];
  const done: Instance[] = [];
  let failure: unknown = null;
  const changeNext = async (): Promise<void> => {
    while (failure === null) {
      const next = waiting.shift();
      if (next === undefined) return;
      try {
        const { setLabels } = await send(SetLabels, { id: next.id, ...changes });
        if (setLabels !== null) done.push(setLabels);
      } catch (fault) {
        failure = fault;
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, changeNext));
  takeInstances(done);
  if (failure !== null) throw failure;
}
