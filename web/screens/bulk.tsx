import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { loneRate, micro, rate, sum } from '../figures/money.js';
import { Act } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { Refusal, send, Unreachable } from '../graph/send.js';
import { Amount } from '../parts/amount.js';
import { Dialog } from '../parts/dialog.js';
import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import { type Instance, rateOf, settled, takeInstances } from '../state/account.js';
import { messageOf } from '../state/messages.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/bulk.js';
import { texts as house } from '../texts/en/house.js';

type Action = 'STOP' | 'DESTROY';

interface BarProps {
  /** Number of listed instances. */
  all: number;
  chosen: readonly Instance[];
  onLabel(targets: readonly Instance[]): void;
  onClear(): void;
}

/** The bar with the actions for the selected instances. It floats above the list while any are selected. */
export function SelectionBar({ all, chosen, onLabel, onClear }: BarProps) {
  const pending = useSignal<{ action: Action; targets: readonly Instance[] } | null>(null);
  const running = chosen.filter(({ status }) => status === 'RUNNING');
  const confirm = (action: Action, targets: readonly Instance[]) => {
    pending.value = { action, targets };
  };
  const isOpen = chosen.length > 0;
  return (
    <>
      <div class={isOpen ? 'selection' : 'hidden'}>
        <span role="status">
          {isOpen && (
            <>
              {texts.selected(chosen.length, all)}
              <span class="quiet figure">
                {' '}
                · <Amount of={chosen.reduce((total, one) => total + rateOf(one), 0n)} unit="USD/h" />
              </span>
            </>
          )}
        </span>
        {running.length > 0 && (
          <button type="button" onClick={() => confirm('STOP', running)}>
            <Icon name="pause" />
            {texts.STOP.button(running.length)}
          </button>
        )}
        {isOpen && (
          <>
            <button type="button" onClick={() => onLabel(chosen)}>
              <Icon name="tag" />
              {texts.addLabel}
            </button>
            <Menu
              label={house.actionsOf(texts.selection)}
              items={[
                {
                  name: texts.DESTROY.button(chosen.length),
                  icon: 'trash-2',
                  isDanger: true,
                  onChoose: () => confirm('DESTROY', chosen),
                },
              ]}
            />
            <button
              type="button"
              class="ghost menu-button"
              aria-label={texts.clear}
              title={texts.clear}
              onClick={onClear}
            >
              <Icon name="x" />
            </button>
          </>
        )}
      </div>
      {pending.value !== null && (
        <BulkConfirm
          action={pending.value.action}
          targets={pending.value.targets}
          onClose={() => {
            pending.value = null;
          }}
        />
      )}
    </>
  );
}

/**
 * Returns the instances that are still to be changed. This is based on the account's own state, because an action may
 * have been done even if its response was lost.
 */
function leftOf(action: Action, targets: readonly Instance[], done: readonly Instance[]): readonly Instance[] {
  const doneIds = new Set(done.map(({ id }) => id));
  const statuses = new Map(settled.value?.instances.map(({ id, status }) => [id, status]));
  const isDone = (id: string) =>
    doneIds.has(id) || !statuses.has(id) || (action === 'STOP' && statuses.get(id) === 'STOPPED');
  return targets.filter(({ id }) => !isDone(id));
}

/** Maximum concurrent requests. */
export const MAX_CONCURRENT = 4;

interface ConfirmProps {
  action: Action;
  targets: readonly Instance[];
  onClose(): void;
}

/**
 * Shows the total cost and runs the action once per instance. Instances whose action failed stay in the list with the
 * reason.
 */
function BulkConfirm({ action, targets, onClose }: ConfirmProps) {
  const keys = useMemo(() => new Map(targets.map(({ id }) => [id, newIdempotencyKey()])), []);
  const isBusy = useSignal(false);
  const done = useSignal<readonly Instance[]>([]);
  const faults = useSignal<ReadonlyMap<string, unknown>>(new Map());
  const labels = texts[action];
  const left = leftOf(action, targets, done.value);
  const isLeft = new Set(left);
  const act = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    faults.value = new Map();
    let limited: unknown = null;
    const waiting = [...left];
    const actOnNext = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { id } = next;
        try {
          // After one request is rate-limited, the others would be too.
          if (limited !== null) throw limited;
          const answer = (await send(Act, { id, action, idempotencyKey: keys.get(id)! })).action;
          done.value = [...done.value, answer ?? next];
        } catch (fault) {
          if (fault instanceof Refusal && fault.code === 'rate_limited') limited = fault;
          // Without a response, the action may have been done, so the same key is sent again to prevent a repetition.
          // After a refusal, nothing was done.
          if (!(fault instanceof Unreachable)) keys.set(id, newIdempotencyKey());
          faults.value = new Map(faults.value).set(id, fault);
        }
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, actOnNext));
    takeInstances(done.value);
    isBusy.value = false;
  };
  // This is also true if an action without a response turns out to have been done.
  const isOver = left.length === 0 && !isBusy.value;
  useEffect(() => {
    if (!isOver) return;
    say(labels.done(targets.length));
    onClose();
  }, [isOver]);
  return (
    <Dialog title={labels.title(targets.length)} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        {action === 'STOP' ? <CostOfStop of={left} /> : <CostOfDestroy of={left} />}
        <ul class="bulk-list" aria-label={texts.list}>
          {targets.map((instance) => (
            <li key={instance.id} class="row between">
              <span>
                {instance.name} {instance.name !== instance.id && <span class="quiet small mono">{instance.id}</span>}
              </span>
              <Outcome isDone={!isLeft.has(instance)} fault={faults.value.get(instance.id)} />
            </li>
          ))}
        </ul>
        <p class="small quiet" role="status">
          {isBusy.value && texts.progress(done.value.length, targets.length)}
          {faults.value.size > 0 && !isBusy.value && texts.notDone(left.length, targets.length)}
        </p>
      </div>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          {done.value.length > 0 ? texts.close : labels.keep}
        </button>
        <button type="button" class="danger" aria-disabled={isBusy.value} onClick={act}>
          {isBusy.value ? labels.busy : labels.button(left.length)}
        </button>
      </div>
    </Dialog>
  );
}

function Outcome({ isDone, fault }: { isDone: boolean; fault: unknown }) {
  if (isDone) return <span class="small good">{texts.done}</span>;
  return fault === undefined ? null : <span class="small bad">{messageOf(fault)}</span>;
}

const sumOf = (instances: readonly Instance[], amount: (instance: Instance) => number): bigint =>
  instances.reduce((sum, instance) => sum + micro(amount(instance)), 0n);

function CostOfStop({ of: targets }: { of: readonly Instance[] }) {
  const gpus = sumOf(targets, ({ priceHr }) => priceHr);
  const disks = sumOf(targets, ({ diskPriceHr }) => diskPriceHr);
  return (
    <>
      <p>{texts.stops(rate(gpus), <strong>{rate(disks)} USD/h</strong>)}</p>
      <p class="notice warn">{texts.mayBeTaken}</p>
    </>
  );
}

function CostOfDestroy({ of: targets }: { of: readonly Instance[] }) {
  const early = sumOf(targets, ({ earlyExitCost }) => earlyExitCost);
  const size = targets.reduce((sum, { diskGb }) => sum + diskGb, 0);
  const saved = targets.reduce((sum, instance) => sum + rateOf(instance), 0n);
  return (
    <>
      <p>{texts.ends(<strong>{loneRate(saved)} USD/h</strong>)}</p>
      <p class="notice bad">{texts.erased(size)}</p>
      {early > 0n && <p class="notice warn">{texts.earlyExit(<strong>{sum(early)} USD</strong>)}</p>}
    </>
  );
}
