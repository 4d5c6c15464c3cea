import { useComputed, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect } from 'preact/hooks';
import { number } from '../figures/number.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import {
  ChangeWebhook,
  CreateWebhook,
  DeleteWebhook,
  Notifications,
  Redeliver,
  RotateWebhookSecret,
  TestWebhook,
} from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Ago } from '../parts/ago.js';
import { Dialog } from '../parts/dialog.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Fold } from '../parts/fold.js';
import { Icon } from '../parts/icon.js';
import { LocalTime } from '../parts/local-time.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { Failure } from '../parts/notice.js';
import { ShownOnce } from '../parts/shown-once.js';
import { Table } from '../parts/table.js';
import { serverNow } from '../state/clock.js';
import { useRead } from '../state/read.js';
import { useWork } from '../state/work.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/webhooks.js';
import { Mail, NoticesOf } from './mail.js';
import { Notices } from './notices.js';

type Webhook = NonNullable<ResultOf<typeof Notifications>['webhooks']>[number];

const EXAMPLE = 'https://example.com/hooks/gpu';
/** The service's value for the subject of events that don't concern an instance. */
const OF_ACCOUNT = 'account';

/** Shows who is notified, by email and by webhooks with their last deliveries, and about what. */
export function Recipients() {
  const hasPending = useSignal(false);
  // No account event reports the outcome of a delivery.
  const age = useComputed(() => Math.floor(serverNow.value / (hasPending.value ? 3 : 60)));
  const { data, error, again } = useRead(Notifications, {}, age);
  const secret = useSignal<string | null>(null);
  const isCreating = useSignal(false);
  const deleting = useSignal<Webhook | null>(null);
  const { error: fault, run: work } = useWork(again);
  const create = async (typed: FormData) => {
    const { createWebhook } = await send(CreateWebhook, { url: String(typed.get('url')).trim() });
    secret.value = createWebhook?.secret ?? null;
  };
  const webhooks = data.value?.webhooks ?? null;
  const isWaiting = webhooks?.some(({ pausedAt, waiting }) => pausedAt === null && waiting > 0) ?? false;
  useEffect(() => {
    hasPending.value = isWaiting;
  }, [isWaiting]);
  const read = data.value;
  // Everything appears together, so that nothing moves.
  if (read === null)
    return error.value === null ? <p class="quiet">{house.moment}</p> : <Failure error={error.value} />;
  return (
    <>
      <section class="panel recipients" aria-labelledby="recipients">
        <div class="panel-head">
          <div>
            <h2 id="recipients">{texts.recipients}</h2>
            <p class="small quiet">{read.sendsMail ? texts.what : texts.whatWithoutMail}</p>
          </div>
          <button
            type="button"
            class="primary"
            onClick={() => {
              isCreating.value = true;
            }}
          >
            <Icon name="plus" />
            {texts.new}
          </button>
        </div>
        <Failure error={fault.value ?? error.value} />
        {(read.sendsMail || read.mailAddress !== null) && (
          <Mail mail={read.mailAddress} isOffered={read.sendsMail} again={again} />
        )}
        {webhooks?.length === 0 && (
          <div class="recipient">
            <span class="tile">
              <Icon name="webhook" />
            </span>
            <div class="recipient-name">
              <h3>{texts.none}</h3>
              <p class="small quiet">{texts.noneHint}</p>
            </div>
          </div>
        )}
        {webhooks?.map((webhook) => (
          <One
            key={webhook.id}
            webhook={webhook}
            work={work}
            again={again}
            onSecret={(text) => {
              secret.value = text;
            }}
            onDelete={() => {
              deleting.value = webhook;
            }}
          />
        ))}
      </section>
      <Notices of={read} onChanged={again} />
      {isCreating.value && (
        <EditDialog
          title={texts.new}
          submitLabel={texts.create}
          change={create}
          onTried={again}
          onClose={() => {
            isCreating.value = false;
          }}
        >
          <UrlField />
          <p class="small quiet">{texts.signed}</p>
        </EditDialog>
      )}
      {secret.value !== null && (
        <ShownOnce
          title={texts.secret}
          secret={secret.value}
          copyLabel={texts.copySecret}
          onClose={() => {
            secret.value = null;
          }}
        />
      )}
      {deleting.value !== null && (
        <DeleteIt
          webhook={deleting.value}
          onTried={again}
          onClose={() => {
            deleting.value = null;
          }}
        />
      )}
    </>
  );
}

interface OneProps {
  webhook: Webhook;
  work(change: () => Promise<unknown>): Promise<boolean>;
  again(): void;
  onSecret(text: string | null): void;
  onDelete(): void;
}

/** An event that is being delivered, with all its attempts. */
interface Sent {
  delivery: Webhook['deliveries'][number];
  attempts: Webhook['attempts'];
}

function One({ webhook, work, again, onSecret, onDelete }: OneProps) {
  const { id, url, events, pausedAt, pauseReason, waiting } = webhook;
  const attemptsOf = useSignal<Sent | null>(null);
  const isEditing = useSignal(false);
  const sent = webhook.deliveries.map((delivery) => ({
    delivery,
    attempts: webhook.attempts.filter(({ eventId }) => eventId === delivery.eventId),
  }));
  const isPaused = pausedAt !== null;
  const tried = lastTried(webhook);
  const failure =
    tried?.state === 'DELIVERED' ? undefined : sent.find(({ delivery }) => delivery === tried)?.attempts[0];
  const items: MenuItem[] = [
    ...(isPaused
      ? []
      : [
          {
            name: texts.test,
            label: texts.testOf(visible(url)),
            icon: 'bell',
            onChoose: () => void work(() => send(TestWebhook, { id })),
          },
        ]),
    {
      name: isPaused ? texts.resume : texts.pause,
      icon: isPaused ? 'play' : 'pause',
      onChoose: () => void work(() => send(ChangeWebhook, { id, paused: !isPaused })),
    },
    {
      name: texts.rotateSecret,
      icon: 'refresh-cw',
      onChoose: () =>
        void work(async () => onSecret((await send(RotateWebhookSecret, { id })).rotateWebhookSecret?.secret ?? null)),
    },
    {
      name: texts.delete,
      label: texts.deleteThis(visible(url)),
      icon: 'trash-2',
      isDanger: true,
      onChoose: onDelete,
    },
  ];
  return (
    <section aria-labelledby={id}>
      <div class="recipient">
        <span class="tile">
          <Icon name="webhook" />
        </span>
        <div class="recipient-name">
          <h3 id={id} title={visible(url)}>
            {visible(url)}
          </h3>
          <p class="small quiet">
            {isPaused ? (
              texts.paused(<LocalTime at={secondsOf(pausedAt)} />, visible(pauseReason ?? ''))
            ) : (
              <>
                <NoticesOf name={texts.webhook} events={events} waiting={waiting} />
                {sent[0] !== undefined && (
                  <>
                    {' '}
                    · <Last of={sent[0].delivery} />
                  </>
                )}
              </>
            )}
          </p>
          {!isPaused && failure !== undefined && <p class="small quiet">{outcomeOf(failure)}</p>}
        </div>
        <div class="recipient-actions">
          <State of={webhook} />
          <button
            type="button"
            aria-label={house.editOf(visible(url))}
            onClick={() => {
              isEditing.value = true;
            }}
          >
            {house.edit}
          </button>
          <Menu label={house.actionsOf(visible(url))} items={items} />
        </div>
      </div>
      {sent.length > 0 && (
        <div class="deliveries">
          <Fold title={texts.deliveries} summary={number(sent.length)}>
            <Table
              isCards
              class="listing"
              columns={[
                [texts.columns.event],
                [texts.columns.state],
                [texts.columns.about],
                [texts.columns.attempts],
                [texts.columns.when],
                [texts.columns.actions, 'unseen', 'at-end'],
              ]}
            >
              {sent.map((each) => (
                <Delivery
                  key={each.delivery.eventId}
                  {...each}
                  isPaused={isPaused}
                  onAgain={() => void work(() => send(Redeliver, { id, eventId: each.delivery.eventId }))}
                  onAttempts={() => {
                    attemptsOf.value = each;
                  }}
                />
              ))}
            </Table>
          </Fold>
        </div>
      )}
      {isEditing.value && (
        <EditDialog
          title={texts.edit}
          change={(typed) => send(ChangeWebhook, { id, url: String(typed.get('url')).trim() })}
          onTried={again}
          onClose={() => {
            isEditing.value = false;
          }}
        >
          <UrlField url={url} />
        </EditDialog>
      )}
      {attemptsOf.value !== null && (
        <Attempts
          of={attemptsOf.value}
          onClose={() => {
            attemptsOf.value = null;
          }}
        />
      )}
    </section>
  );
}

const UrlField = ({ url = '' }: { url?: string }) => (
  <label class="field">
    <span>{texts.address}</span>
    <input name="url" type="url" required maxLength={2000} placeholder={EXAMPLE} defaultValue={url} />
  </label>
);

/** Returns the last delivery that ended or was attempted. */
const lastTried = ({ deliveries, attempts }: Webhook) =>
  deliveries.find(({ eventId, state }) => state !== 'PENDING' || attempts.some((each) => each.eventId === eventId));

/** Shows whether the webhook works, according to the last delivery that ended or was attempted. */
function State({ of: webhook }: { of: Webhook }) {
  if (webhook.pausedAt !== null) return <span class="badge warn">{texts.isPaused}</span>;
  const last = lastTried(webhook);
  if (last === undefined)
    return (
      <span class="badge" title={texts.nothingSent}>
        {texts.isUnused}
      </span>
    );
  return last.state === 'DELIVERED' ? (
    <span class="badge good">{texts.isActive}</span>
  ) : (
    <span class="badge bad">{texts.isFailing}</span>
  );
}

const TONES = { PENDING: 'warn', DELIVERED: 'good', GIVEN_UP: 'bad' } as const;
const MARKS = { PENDING: 'clock', DELIVERED: 'circle-check', GIVEN_UP: 'circle-alert' } as const;

/** The newest event, its state and its age. */
function Last({ of: { eventType, eventAt, state } }: { of: Sent['delivery'] }) {
  const at = secondsOf(eventAt);
  // The text changes once a minute, so the row isn't rendered every second.
  const minutes = useComputed(() => Math.max(0, Math.floor((serverNow.value - at) / 60))).value;
  const name = <span class="mono">{eventType}</span>;
  return (
    <>
      <span class={TONES[state]}>
        <Icon name={MARKS[state]} />
      </span>{' '}
      {state === 'PENDING'
        ? texts.pendingFor(name, minutes)
        : texts.last(
            name,
            texts.states[state],
            <span class="nowrap">
              <Ago at={at} />
            </span>,
          )}
    </>
  );
}

interface DeliveryProps extends Sent {
  isPaused: boolean;
  onAgain(): void;
  onAttempts(): void;
}

function Delivery({ delivery, attempts, isPaused, onAgain, onAttempts }: DeliveryProps) {
  const { eventType, eventAt, subject, state, nextAt } = delivery;
  const [last] = attempts;
  const items: MenuItem[] = [
    {
      name: texts.again,
      ...(isPaused && { note: texts.notWhilePaused }),
      label: texts.againThis(eventType),
      icon: 'refresh-cw',
      onChoose: () => !isPaused && onAgain(),
    },
    { name: texts.showAttempts(attempts.length), icon: 'history', onChoose: onAttempts },
  ];
  return (
    <tr>
      <th scope="row" class="mono">
        {eventType}
      </th>
      <td class="card-start nowrap">
        <span class={`badge ${TONES[state]}`}>{texts.states[state]}</span>{' '}
        {state === 'PENDING' && (
          <span class="small quiet">{nextAt === null ? texts.queued : texts.next(<Ago at={secondsOf(nextAt)} />)}</span>
        )}
      </td>
      <td class="no-card">
        {subject === OF_ACCOUNT ? (
          <span class="quiet">{texts.account}</span>
        ) : (
          <a class="mono" href={`/instances/${subject}`}>
            {subject}
          </a>
        )}
      </td>
      <td class="no-card">
        {last === undefined ? <span class="quiet">{texts.notTried}</span> : outcomeOf(last)}
        {attempts.length > 1 && <span class="quiet small"> · {texts.attempts(attempts.length)}</span>}
      </td>
      <td class="nowrap">
        <Ago at={secondsOf(eventAt)} />
      </td>
      <td class="at-end">
        <Menu label={house.actionsOf(eventType)} items={items} />
      </td>
    </tr>
  );
}

const outcomeOf = ({ status, error }: Webhook['attempts'][number]) =>
  status === null ? texts.noResponse(visible(error ?? '')) : texts.responded(status);

/** A dialog that lists all attempts to deliver an event. */
function Attempts({ of: { delivery, attempts }, onClose }: { of: Sent; onClose(): void }) {
  return (
    <Dialog title={texts.attemptsOf(delivery.eventType)} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        {attempts.length === 0 && <p class="quiet">{texts.notTried}</p>}
        <ol class="attempts">
          {attempts.map((attempt) => (
            <li key={attempt.number}>
              <span class="quiet">{attempt.number}.</span>
              <span>{outcomeOf(attempt)}</span>
              <span class="quiet">{`${number(attempt.tookMs)} ms`}</span>
              <LocalTime at={secondsOf(attempt.at)} />
            </li>
          ))}
        </ol>
      </div>
    </Dialog>
  );
}

interface DeleteProps {
  webhook: Webhook;
  onTried(): void;
  onClose(): void;
}

/** A dialog that deletes a webhook. */
function DeleteIt({ webhook: { id, url }, onTried, onClose }: DeleteProps) {
  return (
    <EditDialog
      title={texts.deleteQuestion}
      submitLabel={texts.deleteNow}
      isDanger
      change={() => send(DeleteWebhook, { id })}
      onTried={onTried}
      onClose={onClose}
    >
      <p>{texts.deleteHint(<code>{visible(url)}</code>)}</p>
    </EditDialog>
  );
}
