import { signal, useComputed, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect } from 'preact/hooks';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import {
  ChangeWebhook,
  CreateWebhook,
  DeleteWebhook,
  Redeliver,
  RotateWebhookSecret,
  TestWebhook,
  Webhooks as WebhooksDocument,
} from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { serverNow } from '../state/clock.js';
import { useRead } from '../state/read.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/webhooks.js';
import { Mail } from './mail.js';

type Webhook = NonNullable<ResultOf<typeof WebhooksDocument>['webhooks']>[number];

const EXAMPLE = 'https://example.com/hooks/gpu';
/** The service's value for the subject of events that don't concern an instance. */
const OF_ACCOUNT = 'account';

/** Counts the changes made on this page. */
const changes = signal(0);
const readAgain = () => {
  changes.value += 1;
};

/** Shows webhooks and the outcome of their last deliveries. */
export function WebhookList() {
  const hasPending = useSignal(false);
  // No account event reports the outcome of a delivery.
  const age = useComputed(() => `${changes.value} ${Math.floor(serverNow.value / (hasPending.value ? 3 : 60))}`);
  const { data, error } = useRead(WebhooksDocument, {}, age);
  const secret = useSignal<string | null>(null);
  const { isBusy, error: fault, run: work } = useWork(readAgain);
  const create = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const url = String(new FormData(form).get('url')).trim();
    const isDone = await work(async () => {
      secret.value = (await send(CreateWebhook, { url })).createWebhook?.secret ?? null;
    });
    if (isDone) form.reset();
  };
  const webhooks = data.value?.webhooks ?? null;
  const isWaiting = webhooks?.some(({ pausedAt, waiting }) => pausedAt === null && waiting > 0) ?? false;
  useEffect(() => {
    hasPending.value = isWaiting;
  }, [isWaiting]);
  return (
    <>
      <Mail />
      <section class="panel" aria-labelledby="webhooks">
        <div class="panel-head">
          <h2 id="webhooks">{texts.webhooks}</h2>
          <p class="small quiet">{texts.what}</p>
        </div>
        <form class="padded row field-row" onSubmit={create}>
          <label class="field">
            <span>{texts.address}</span>
            <input name="url" type="url" required maxLength={2000} placeholder={EXAMPLE} />
          </label>
          <button type="submit" aria-disabled={isBusy.value}>
            {texts.create}
          </button>
        </form>
        <Failure error={fault.value ?? error.value} />
        {secret.value !== null && (
          <div class="padded">
            <div class="notice good stack-tight" role="status">
              <strong>{texts.secret}</strong>
              <code class="secret">{secret.value}</code>
              <Copy text={secret.value} label={texts.copySecret} />
            </div>
          </div>
        )}
        {webhooks?.length === 0 && (
          <Empty icon="webhook" title={texts.none}>
            <p>{texts.noneHint}</p>
          </Empty>
        )}
      </section>
      {webhooks?.map((webhook) => (
        <One
          key={webhook.id}
          webhook={webhook}
          work={work}
          onSecret={(text) => {
            secret.value = text;
          }}
        />
      ))}
    </>
  );
}

interface OneProps {
  webhook: Webhook;
  work(change: () => Promise<unknown>): Promise<boolean>;
  onSecret(text: string | null): void;
}

/** An event that is being delivered, with all its attempts. */
interface Sent {
  delivery: Webhook['deliveries'][number];
  attempts: Webhook['attempts'];
}

function One({ webhook, work, onSecret }: OneProps) {
  const { id, url, events, pausedAt, pauseReason, waiting } = webhook;
  const sent = webhook.deliveries.map((delivery) => ({
    delivery,
    attempts: webhook.attempts.filter(({ eventId }) => eventId === delivery.eventId),
  }));
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id} class="mono webhook-url">
          {visible(url)}
        </h2>
        <p class="small quiet">
          {events === null ? texts.allEvents : events.join(', ')};{' '}
          {waiting === 0 ? texts.nothingWaits : texts.waiting(waiting)}
        </p>
      </div>
      {pausedAt !== null && (
        <div class="padded">
          <p class="notice warn">{texts.paused(<Time at={secondsOf(pausedAt)} />, visible(pauseReason ?? ''))}</p>
        </div>
      )}
      <div class="padded row">
        <button
          type="button"
          aria-disabled={pausedAt !== null}
          onClick={() => pausedAt === null && void work(() => send(TestWebhook, { id }))}
        >
          {texts.test}
        </button>
        <button type="button" onClick={() => void work(() => send(ChangeWebhook, { id, paused: pausedAt === null }))}>
          {pausedAt === null ? texts.pause : texts.resume}
        </button>
        <button
          type="button"
          onClick={() =>
            void work(async () =>
              onSecret((await send(RotateWebhookSecret, { id })).rotateWebhookSecret?.secret ?? null),
            )
          }
        >
          {texts.rotateSecret}
        </button>
        <button
          type="button"
          class="danger"
          aria-label={texts.deleteThis(visible(url))}
          onClick={() => void work(() => send(DeleteWebhook, { id }))}
        >
          {texts.delete}
        </button>
      </div>
      {sent.length === 0 ? (
        <p class="padded small quiet">{texts.nothingSent}</p>
      ) : (
        <Table
          isCards
          columns={[
            [texts.columns.event],
            [texts.columns.state],
            [texts.columns.attempts],
            [texts.columns.again, 'unseen'],
          ]}
        >
          {sent.map((each) => (
            <Delivery
              key={each.delivery.eventId}
              {...each}
              isPaused={pausedAt !== null}
              onAgain={() => void work(() => send(Redeliver, { id, eventId: each.delivery.eventId }))}
            />
          ))}
        </Table>
      )}
    </section>
  );
}

const TONES = { PENDING: 'warn', DELIVERED: 'good', GIVEN_UP: 'bad' } as const;

function Delivery({ delivery, attempts, isPaused, onAgain }: Sent & { isPaused: boolean; onAgain(): void }) {
  const { eventType, eventAt, subject, state, nextAt } = delivery;
  return (
    <tr>
      <th scope="row" class="wide">
        <span class="mono">{eventType}</span>
        <br />
        <span class="small quiet">
          <Time at={secondsOf(eventAt)} />
          {' · '}
          {subject === OF_ACCOUNT ? texts.account : <a href={`/instances/${subject}`}>{subject}</a>}
        </span>
      </th>
      <td class="wide" data-label={texts.columns.state}>
        <span class={`badge ${TONES[state]}`}>{texts.states[state]}</span>
        {state === 'PENDING' && (
          <p class="small quiet">{nextAt === null ? texts.queued : texts.next(<Time at={secondsOf(nextAt)} />)}</p>
        )}
      </td>
      <td class="wide" data-label={texts.columns.attempts}>
        <Attempts of={attempts} />
      </td>
      <td class="number wide">
        <button
          type="button"
          aria-label={texts.againThis(eventType)}
          aria-disabled={isPaused}
          title={isPaused ? texts.notWhilePaused : undefined}
          onClick={() => !isPaused && onAgain()}
        >
          {texts.again}
        </button>
      </td>
    </tr>
  );
}

const outcomeOf = ({ status, error }: Webhook['attempts'][number]) =>
  status === null ? texts.noResponse(visible(error ?? '')) : texts.responded(status);

/** Shows the outcome of the last attempt, above a list of all attempts that can be expanded. */
function Attempts({ of: attempts }: { of: Webhook['attempts'] }) {
  const [last] = attempts;
  if (last === undefined) return <span class="small quiet">{texts.notTried}</span>;
  const all = attempts.map((attempt) => (
    <li key={attempt.number}>
      {texts.attempt(attempt.number, <Time at={secondsOf(attempt.at)} />, outcomeOf(attempt), attempt.tookMs)}
    </li>
  ));
  return (
    <>
      <p>{outcomeOf(last)}</p>
      <details>
        <summary class="small">{texts.attempts(attempts.length)}</summary>
        <ol class="small quiet attempts">{all}</ol>
      </details>
    </>
  );
}
