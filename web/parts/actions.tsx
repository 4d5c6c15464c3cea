import { useMemo } from 'preact/hooks';
import { micro, rate, sum } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { Act } from '../graph/documents.js';
import { newIdempotencyKey } from '../graph/idempotency-key.js';
import { send } from '../graph/send.js';
import { costNow, type Instance, takeInstance } from '../state/account.js';
import { useLostAnswer } from '../state/lost-answer.js';
import { modelName } from '../state/market.js';
import { type Action, pendingAction } from '../state/pending-action.js';
import { say } from '../state/toasts.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/actions.js';
import { Amount } from './amount.js';
import { Dialog } from './dialog.js';
import type { MenuItem } from './menu.js';
import { Failure, NotArrived } from './notice.js';

const ICONS = { STOP: 'pause', START: 'play', DESTROY: 'trash-2' } as const satisfies Record<Action, string>;

/** Returns the menu item that opens an action's dialog, in which `cannotStart` says why the instance can't start. */
export const actionItem = (instance: Instance, action: Action, cannotStart?: string | null): MenuItem => ({
  name: texts[action].name,
  icon: ICONS[action],
  label: texts[action].label(visible(instance.name)),
  isDanger: action === 'DESTROY',
  onChoose: () => {
    pendingAction.value = { instance, action, cannotStart };
  },
});

interface ConfirmProps {
  instance: Instance;
  action: Action;
  cannotStart: string | null;
  onClose(): void;
}

/** Asks for confirmation of an action and shows its cost and losses. */
export function Confirm({ instance, action, cannotStart, onClose }: ConfirmProps) {
  const idempotencyKey = useMemo(newIdempotencyKey, []);
  const { isBusy, error, run } = useWork();
  const labels = texts[action];
  const isNotDone = useLostAnswer(idempotencyKey, error.value, onClose);
  const act = () =>
    run(async () => {
      const done = (await send(Act, { id: instance.id, action, idempotencyKey })).action;
      if (done !== null) {
        takeInstance(done);
        say(labels.done(visible(done.name)));
      }
      onClose();
    });
  return (
    <Dialog title={labels.title(visible(instance.name))} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        <p class="quiet">
          {instance.name !== instance.id && <span class="mono small">{instance.id} · </span>}
          {texts.summary(
            instance.numGpus,
            modelName(instance.gpu),
            visible(instance.template),
            <Amount of={costNow(instance)} unit="USD" />,
          )}
        </p>
        <Consequences instance={instance} action={action} />
        {action === 'START' && cannotStart !== null && <p class="notice warn">{cannotStart}</p>}
        {isNotDone ? <NotArrived>{texts.nothingChanged}</NotArrived> : <Failure error={error.value} />}
      </div>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          {labels.keep}
        </button>
        <button
          type="button"
          class={action === 'START' ? 'primary' : 'danger'}
          aria-disabled={isBusy.value}
          onClick={act}
        >
          {isBusy.value ? labels.busy : labels.name}
        </button>
      </div>
    </Dialog>
  );
}

/** Shows the cost after the action and what will be lost. */
function Consequences({ instance, action }: { instance: Instance; action: Action }) {
  const [gpu, disk] = [micro(instance.priceHr), micro(instance.diskPriceHr)];
  if (action === 'START')
    return <p>{texts.starts(<strong>{rate(gpu + disk)} USD/h</strong>, rate(gpu), rate(disk))}</p>;
  if (action === 'STOP')
    return (
      <>
        <p>{texts.stops(rate(gpu), instance.diskGb, <strong>{rate(disk)} USD/h</strong>)}</p>
        <p class="notice warn">{texts.mayBeTaken}</p>
      </>
    );
  return (
    <>
      <p>{texts.ends(<strong>{texts.nothing}</strong>)}</p>
      <p class="notice bad">{texts.erased(instance.diskGb)}</p>
      {instance.earlyExitCost > 0 && (
        <p class="notice warn">{texts.earlyExit(<strong>{sum(micro(instance.earlyExitCost))} USD</strong>)}</p>
      )}
    </>
  );
}
