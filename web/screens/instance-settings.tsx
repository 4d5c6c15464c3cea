import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { type Labels, labelChanges, labelsOf, requirementsOf } from '../figures/labels.js';
import { visible } from '../figures/visible.js';
import { SetDeadlines, SetLabels, SetSpendLimit, SetStopWhenIdle } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { LabelField } from '../parts/labels.js';
import { type Instance, takeInstance } from '../state/account.js';
import { idleMinutes } from '../state/deploy-form.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/instance.js';
import { DeadlineFields, type DeadlineTexts, IdleField } from './deadlines.js';
import type { Read } from './instance-read.js';

/** The settings that the user can change. Deadlines are instants, or times from now. */
interface Settings {
  stopAt: string | null;
  destroyAt: string | null;
  stopWhenIdle: number | null;
  spendLimit: number | null;
  labels: Labels;
}

interface Props {
  instance: Instance;
  read: Read;
  onChanged(): void;
  onClose(): void;
}

/** A dialog that sets and removes an instance's deadlines, spend limit and labels. */
export function InstanceSettings({ instance, read, onChanged, onClose }: Props) {
  const { id, name, labels } = instance;
  // What is undone is the state from before the dialog, which may be saved in several attempts.
  const before = useMemo<Settings>(() => {
    const { stopAt, destroyAt, stopWhenIdle, spendLimit } = read;
    return { stopAt: instantOf(stopAt), destroyAt: instantOf(destroyAt), stopWhenIdle, spendLimit, labels };
  }, []);
  const deadlines = useSignal<DeadlineTexts>({ stopAt: before.stopAt ?? '', destroyAt: before.destroyAt ?? '' });
  const idle = useSignal(String(before.stopWhenIdle ?? ''));
  const typedLabels = useSignal(requirementsOf(labels).join(', '));
  const save = async (typed: FormData) => {
    const limit = String(typed.get('limit'));
    const after: Settings = {
      stopAt: deadlines.value.stopAt || null,
      destroyAt: deadlines.value.destroyAt || null,
      stopWhenIdle: idleMinutes(idle.value),
      spendLimit: limit === '' ? null : Number(limit),
      labels: labelsOf(typedLabels.value),
    };
    if (!(await change(id, before, after))) return;
    const undo = { run: () => change(id, after, before).finally(onChanged), done: texts.settingsRestored };
    say(texts.settingsSaved, { undo });
  };
  return (
    <EditDialog title={texts.settingsOf(visible(name))} change={save} onTried={onChanged} onClose={onClose}>
      <div class="settings">
        <DeadlineFields
          value={deadlines.value}
          onType={(value) => {
            deadlines.value = value;
          }}
        />
        <div class="two">
          {instance.runtime !== null && (
            <IdleField
              value={idle.value}
              onType={(text) => {
                idle.value = text;
              }}
            />
          )}
          <label class="field">
            <span>{texts.limit}</span>
            <input
              name="limit"
              type="number"
              min={0}
              step="any"
              inputMode="decimal"
              placeholder={texts.limitHint}
              defaultValue={String(before.spendLimit ?? '')}
            />
          </label>
        </div>
        <LabelField
          value={typedLabels.value}
          onType={(text) => {
            typedLabels.value = text;
          }}
        />
      </div>
      <p class="small quiet">{texts.settingsHint}</p>
    </EditDialog>
  );
}

/** Returns an instant without a fraction of a second, which the API never has. */
const instantOf = (instant: string | null) => instant?.replace(/\.\d+Z$/, 'Z') ?? null;

/** Sends the settings that differ. Returns whether there are any. */
async function change(id: string, from: Settings, to: Settings): Promise<boolean> {
  const changes: Promise<unknown>[] = [];
  const deadlines = {
    ...(from.stopAt !== to.stopAt && { stopAt: to.stopAt }),
    ...(from.destroyAt !== to.destroyAt && { destroyAt: to.destroyAt }),
  };
  if (Object.keys(deadlines).length > 0) changes.push(send(SetDeadlines, { id, ...deadlines }));
  if (from.stopWhenIdle !== to.stopWhenIdle) changes.push(send(SetStopWhenIdle, { id, minutes: to.stopWhenIdle }));
  if (from.spendLimit !== to.spendLimit) changes.push(send(SetSpendLimit, { id, spendLimit: to.spendLimit }));
  const labels = labelChanges(from.labels, to.labels);
  if (labels !== null)
    changes.push(
      send(SetLabels, { id, ...labels }).then(({ setLabels }) => setLabels !== null && takeInstance(setLabels)),
    );
  await Promise.all(changes);
  return changes.length > 0;
}
