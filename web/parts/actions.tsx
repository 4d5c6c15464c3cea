import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { micro, rate, usd } from '../figures/money.js';
import { Act } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { send } from '../graph/send.js';
import { costNow, type Instance, takeInstance } from '../state/account.js';
import type { Action } from '../state/asked-action.js';
import { useLostAnswer } from '../state/lost-answer.js';
import { modelName } from '../state/market.js';
import { say } from '../state/toasts.js';
import { Dialog } from './dialog.js';
import { Failure, NotArrived } from './notice.js';

interface Words {
  name: string;
  title: string;
  busy: string;
  keep: string;
  done(name: string): string;
}

const WORDS: Record<Action, Words> = {
  START: { name: 'Start', title: 'Start', busy: 'Starting …', keep: 'Not now', done: (name) => `${name} starts.` },
  STOP: {
    name: 'Stop',
    title: 'Stop',
    busy: 'Stopping …',
    keep: 'Keep it running',
    done: (name) => `${name} is stopped. Its disk is kept.`,
  },
  DESTROY: {
    name: 'Destroy',
    title: 'Destroy',
    busy: 'Destroying …',
    keep: 'Keep it',
    done: (name) => `${name} is destroyed.`,
  },
};

/** What can be done to an instance in its state; each says beforehand what it costs from then on. */
export function Actions({ instance, cannotStart = null }: { instance: Instance; cannotStart?: string | null }) {
  const asked = useSignal<Action | null>(null);
  if (instance.status === 'DESTROYED') return null;
  const actions: Action[] = instance.status === 'RUNNING' ? ['STOP', 'DESTROY'] : ['START', 'DESTROY'];
  return (
    <div class="row">
      {actions.map((action) => (
        <button
          key={action}
          type="button"
          class={action === 'DESTROY' ? 'danger' : ''}
          aria-label={`${WORDS[action].name} ${instance.id}`}
          onClick={() => {
            asked.value = action;
          }}
        >
          {WORDS[action].name}
        </button>
      ))}
      {asked.value !== null && (
        <Confirm
          instance={instance}
          action={asked.value}
          cannotStart={cannotStart}
          onClose={() => {
            asked.value = null;
          }}
        />
      )}
    </div>
  );
}

interface ConfirmProps {
  instance: Instance;
  action: Action;
  cannotStart: string | null;
  onClose(): void;
}

/** Asks once more, saying what it costs and what is lost. */
export function Confirm({ instance, action, cannotStart, onClose }: ConfirmProps) {
  const idempotencyKey = useMemo(newIdempotencyKey, []);
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const words = WORDS[action];
  const isNotDone = useLostAnswer(idempotencyKey, error.value, onClose);
  const act = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    error.value = null;
    try {
      const done = (await send(Act, { id: instance.id, action, idempotencyKey })).action;
      if (done !== null) {
        takeInstance(done);
        say(words.done(done.name));
      }
      onClose();
    } catch (fault) {
      error.value = fault;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <Dialog title={`${words.title} ${instance.id}?`} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        <p class="quiet">
          {instance.numGpus} × {modelName(instance.gpu)}, {instance.template}. Cost so far:{' '}
          <span class="figure">{usd(costNow(instance), 4)} USD</span>.
        </p>
        <Consequences instance={instance} action={action} />
        {action === 'START' && cannotStart !== null && <p class="notice warn">{cannotStart}</p>}
        {isNotDone ? <NotArrived>nothing was changed</NotArrived> : <Failure error={error.value} />}
      </div>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          {words.keep}
        </button>
        <button
          type="button"
          class={action === 'START' ? 'primary' : 'danger'}
          aria-disabled={isBusy.value}
          onClick={act}
        >
          {isBusy.value ? words.busy : words.name}
        </button>
      </div>
    </Dialog>
  );
}

/** What it costs from then on, and what is lost. */
function Consequences({ instance, action }: { instance: Instance; action: Action }) {
  const [gpu, disk] = [micro(instance.priceHr), micro(instance.diskPriceHr)];
  if (action === 'START')
    return (
      <p>
        From then on it costs <strong>{rate(gpu + disk)} USD/h</strong>: {rate(gpu)} for the GPUs and {rate(disk)} for
        the disk, which costs now already.
      </p>
    );
  if (action === 'STOP')
    return (
      <>
        <p>
          GPU billing ends this second: {rate(gpu)} USD/h less. The disk of {instance.diskGb} GB is kept and keeps
          costing <strong>{rate(disk)} USD/h</strong> until you destroy the instance.
        </p>
        <p class="notice warn">
          The machine may be taken by others meanwhile; then this instance cannot be started until it is free again.
        </p>
      </>
    );
  return (
    <>
      <p>
        All billing ends this second: from then on it costs <strong>nothing</strong>.
      </p>
      <p class="notice bad">The disk of {instance.diskGb} GB and all that is on it is erased. This cannot be undone.</p>
      {instance.earlyExitCost > 0 && (
        <p class="notice warn">
          The reserved term is not over: leaving it now costs{' '}
          <strong>{usd(micro(instance.earlyExitCost), 4)} USD</strong>, the discount received so far.
        </p>
      )}
    </>
  );
}
