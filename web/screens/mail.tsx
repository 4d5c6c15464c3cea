import { signal, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { DeleteMailAddress, MailAddress, SetMailAddress, TestMailAddress } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Failure } from '../parts/notice.js';
import { Time } from '../parts/time.js';
import { useRead } from '../state/read.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/mail.js';

type Address = NonNullable<ResultOf<typeof MailAddress>['mailAddress']>;

/** Counts the changes made on this page. */
const changes = signal(0);
const readAgain = () => {
  changes.value += 1;
};

/** Shows and changes the address that receives notifications by email. */
export function Mail() {
  const { data, error } = useRead(MailAddress, {}, changes);
  const { isBusy, error: fault, run } = useWork(readAgain);
  const isTested = useSignal(false);
  const work = (change: () => Promise<unknown>) =>
    run(() => {
      isTested.value = false;
      return change();
    });
  const set = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const address = String(new FormData(form).get('address')).trim();
    void work(async () => {
      await send(SetMailAddress, { address });
      form.reset();
    });
  };
  const mail = data.value?.mailAddress ?? null;
  // If mail is disabled, nothing can be set, but an earlier address can be deleted.
  const isOffered = data.value?.sendsMail === true;
  if (error.value === null && mail === null && !isOffered) return null;
  const isSent = mail !== null && mail.confirmedAt !== null && mail.pausedAt === null;
  return (
    <section class="panel" aria-labelledby="mail">
      <div class="panel-head">
        <h2 id="mail">{texts.title}</h2>
        <p class="small quiet">{texts.what}</p>
      </div>
      {mail !== null && (
        <div class="padded stack-tight">
          <p role="status">
            <State of={mail} />
          </p>
          <div class="row">
            {isSent && (
              <button
                type="button"
                aria-disabled={isBusy.value}
                onClick={() =>
                  void work(async () => {
                    await send(TestMailAddress, {});
                    isTested.value = true;
                  })
                }
              >
                {texts.test}
              </button>
            )}
            <button
              type="button"
              class="danger"
              aria-disabled={isBusy.value}
              onClick={() => void work(() => send(DeleteMailAddress, {}))}
            >
              {texts.delete}
            </button>
          </div>
          {isTested.value && (
            <p class="small quiet" role="status">
              {texts.tested}
            </p>
          )}
        </div>
      )}
      {isOffered && (
        <form class="padded row" onSubmit={set}>
          <label class="field">
            <span>{mail === null ? texts.yourAddress : texts.anotherAddress}</span>
            <input name="address" type="email" required maxLength={254} placeholder={texts.example} />
          </label>
          <button type="submit" aria-disabled={isBusy.value}>
            {texts.confirm}
          </button>
        </form>
      )}
      <div class="padded">
        <Failure error={fault.value ?? error.value} />
      </div>
    </section>
  );
}

function State({ of: { address, events, waiting, pausedAt, pauseReason, confirmedAt, confirmBy } }: { of: Address }) {
  const to = <strong class="mono">{visible(address)}</strong>;
  if (pausedAt !== null) return texts.paused(to, <Time at={secondsOf(pausedAt)} />, visible(pauseReason ?? ''));
  if (confirmedAt === null) return texts.unconfirmed(to, <Time at={secondsOf(confirmBy ?? '')} />);
  return events === null ? texts.getsAll(to, waiting) : texts.gets(to, <code>{events.join(', ')}</code>, waiting);
}
