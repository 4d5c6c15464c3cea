import { signal, useSignal } from '@preact/signals';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { DeleteMailAddress, MailAddress, SetMailAddress, TestMailAddress } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Failure } from '../parts/notice.js';
import { Time } from '../parts/time.js';
import { useRead } from '../state/read.js';

/** Counts what the page changed of it. */
const changes = signal(0);

/** The one address that is told of what happens by mail. */
export function Mail() {
  const { data, error } = useRead(MailAddress, {}, changes);
  const fault = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  const isTested = useSignal(false);
  const work = async (asked: () => Promise<unknown>) => {
    if (isBusy.value) return;
    isBusy.value = true;
    fault.value = null;
    isTested.value = false;
    try {
      await asked();
    } catch (thrown) {
      fault.value = thrown;
    } finally {
      isBusy.value = false;
      changes.value += 1;
    }
  };
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
  const isSent = mail !== null && mail.confirmedAt !== null && mail.pausedAt === null;
  return (
    <section class="panel" aria-labelledby="mail">
      <div class="panel-head">
        <h2 id="mail">Mail</h2>
        <p class="small quiet">The same events, to one address.</p>
      </div>
      {mail !== null && (
        <div class="padded stack-tight">
          <p role="status">
            <strong class="mono">{visible(mail.address)}</strong>{' '}
            {mail.pausedAt !== null ? (
              <>
                is not sent to since <Time at={secondsOf(mail.pausedAt)} />: {visible(mail.pauseReason ?? '')}. Set it
                again to go on.
              </>
            ) : mail.confirmedAt === null ? (
              <>
                was sent a link. Open it until <Time at={secondsOf(mail.confirmBy ?? '')} />: nothing else is sent
                before.
              </>
            ) : (
              <>
                gets {mail.events === null ? 'all events' : mail.events.join(', ')}; {mail.waiting} waiting.
              </>
            )}
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
                Send a test mail
              </button>
            )}
            <button
              type="button"
              class="danger"
              aria-disabled={isBusy.value}
              onClick={() => void work(() => send(DeleteMailAddress, {}))}
            >
              Delete the address
            </button>
          </div>
          {isTested.value && (
            <p class="small quiet" role="status">
              A test mail is on its way.
            </p>
          )}
        </div>
      )}
      <form class="padded row" onSubmit={set}>
        <label class="field">
          <span>{mail === null ? 'Your mail address' : 'Another address, or the same again'}</span>
          <input name="address" type="email" required maxLength={254} placeholder="you@example.com" />
        </label>
        <button type="submit" aria-disabled={isBusy.value}>
          Send me a link to confirm it
        </button>
      </form>
      <div class="padded">
        <Failure error={fault.value ?? error.value} />
      </div>
    </section>
  );
}
