import { signal, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import {
  ChangeWebhook,
  CreateWebhook,
  DeleteWebhook,
  Redeliver,
  TestWebhook,
  TurnWebhookSecret,
  Webhooks as WebhooksDocument,
} from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { useRead } from '../state/read.js';
import { useTitle } from '../state/title.js';
import { Mail } from './mail.js';

type Webhook = NonNullable<ResultOf<typeof WebhooksDocument>['webhooks']>[number];

/** Counts what the page changed of them. */
const changes = signal(0);

/** Where events are sent to, and what became of the last ones. */
export function Webhooks() {
  const { data, error } = useRead(WebhooksDocument, {}, changes);
  const secret = useSignal<string | null>(null);
  const fault = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  useTitle('Notices');
  const work = async (asked: () => Promise<unknown>): Promise<boolean> => {
    if (isBusy.value) return false;
    isBusy.value = true;
    fault.value = null;
    try {
      await asked();
      return true;
    } catch (thrown) {
      fault.value = thrown;
      return false;
    } finally {
      isBusy.value = false;
      changes.value += 1;
    }
  };
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
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Notices</h1>
      <Mail />
      <section class="panel" aria-labelledby="webhooks">
        <div class="panel-head">
          <h2 id="webhooks">Webhooks</h2>
          <p class="small quiet">Programs of yours that are told.</p>
        </div>
        <form class="padded row" onSubmit={create}>
          <label class="field">
            <span>Address that events are sent to, signed by Standard Webhooks</span>
            <input name="url" type="url" required maxLength={2000} placeholder="https://example.com/hooks/gpu" />
          </label>
          <button type="submit" aria-disabled={isBusy.value}>
            Create a webhook
          </button>
        </form>
        <div class="padded">
          <Failure error={fault.value ?? error.value} />
          {secret.value !== null && (
            <div class="notice good stack-tight" role="status">
              <strong>Its secret, shown this once</strong>
              <code class="secret">{secret.value}</code>
              <Copy text={secret.value} label="Copy the secret" />
            </div>
          )}
        </div>
        {webhooks?.length === 0 && <Empty title="No webhooks yet" />}
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
    </div>
  );
}

interface OneProps {
  webhook: Webhook;
  work(asked: () => Promise<unknown>): Promise<boolean>;
  onSecret(text: string | null): void;
}

function One({ webhook: { id, url, events, pausedAt, pauseReason, waiting, attempts }, work, onSecret }: OneProps) {
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id} class="mono">
          {visible(url)}
        </h2>
        <p class="small quiet">
          {events === null ? 'all events' : events.join(', ')}; {waiting} waiting
        </p>
      </div>
      {pausedAt !== null && (
        <p class="notice warn">
          Paused since <Time at={secondsOf(pausedAt)} />: {pauseReason}. What happens meanwhile is not sent.
        </p>
      )}
      <div class="padded row">
        <button type="button" onClick={() => void work(() => send(TestWebhook, { id }))}>
          Send a test
        </button>
        <button type="button" onClick={() => void work(() => send(ChangeWebhook, { id, paused: pausedAt === null }))}>
          {pausedAt === null ? 'Pause' : 'Resume'}
        </button>
        <button
          type="button"
          onClick={() =>
            void work(async () => onSecret((await send(TurnWebhookSecret, { id })).turnWebhookSecret?.secret ?? null))
          }
        >
          New secret
        </button>
        <button
          type="button"
          class="danger"
          aria-label={`Delete the webhook to ${visible(url)}`}
          onClick={() => void work(() => send(DeleteWebhook, { id }))}
        >
          Delete
        </button>
      </div>
      {attempts.length > 0 && (
        <Table isCards columns={[['When'], ['Event'], ['Answer'], ['Send again', 'unseen']]}>
          {attempts.map((attempt) => (
            <tr key={`${attempt.eventId} ${attempt.number}`}>
              <th scope="row" class="wide">
                <Time at={secondsOf(attempt.at)} />
              </th>
              <td class="wide" data-label="Event">
                {attempt.eventType} <span class="small quiet">attempt {attempt.number}</span>
              </td>
              <td class="wide" data-label="Answer">
                {attempt.status ?? visible(attempt.error ?? '')} <span class="small quiet">{attempt.tookMs} ms</span>
              </td>
              <td class="number wide">
                <button
                  type="button"
                  aria-label={`Send again: ${attempt.eventType}`}
                  onClick={() => void work(() => send(Redeliver, { id, eventId: attempt.eventId }))}
                >
                  Send again
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
