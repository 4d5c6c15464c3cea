import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { type Events, NOTICE_KINDS, receivedKinds } from '../figures/notice-kinds.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { DeleteMailAddress, type Notifications, SetMailAddress, TestMailAddress } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Ago } from '../parts/ago.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Icon } from '../parts/icon.js';
import { LocalTime } from '../parts/local-time.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { Failure } from '../parts/notice.js';
import { say } from '../state/toasts.js';
import { useWork } from '../state/work.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/mail.js';
import { texts as webhookTexts } from '../texts/en/webhooks.js';

type Address = NonNullable<ResultOf<typeof Notifications>['mailAddress']>;

interface Props {
  mail: Address | null;
  /** Whether the service sends email. */
  isOffered: boolean;
  again(): void;
}

/** Whether notices are sent to the address. */
export const isMailed = (mail: Address | null): boolean =>
  mail !== null && mail.confirmedAt !== null && mail.pausedAt === null;

/** Shows the address that receives notices by email, with dialogs that change and delete it. */
export function Mail({ mail, isOffered, again }: Props) {
  const { error: fault, run: work } = useWork(again);
  const open = useSignal<'edit' | 'delete' | null>(null);
  const close = () => {
    open.value = null;
  };
  const test = () =>
    work(async () => {
      await send(TestMailAddress, {});
      say(texts.tested);
    });
  const items: MenuItem[] = [
    ...(isOffered && isMailed(mail) ? [{ name: texts.test, icon: 'bell', onChoose: () => void test() }] : []),
    {
      name: texts.delete,
      icon: 'trash-2',
      isDanger: true,
      onChoose: () => {
        open.value = 'delete';
      },
    },
  ];
  return (
    <section class="recipient" aria-label={texts.title}>
      <span class="tile">
        <Icon name="mail" />
      </span>
      <div class="recipient-name">
        <h3 title={mail === null ? undefined : visible(mail.address)}>
          {mail === null ? texts.title : visible(mail.address)}
        </h3>
        <p class="small quiet" role="status">
          {!isOffered ? texts.notOffered : mail === null ? texts.none : <State of={mail} />}
        </p>
      </div>
      <div class="recipient-actions">
        {mail !== null && isOffered && <Badge of={mail} />}
        {/* If mail is disabled, nothing can be set, but an earlier address can be deleted. */}
        {isOffered && (
          <button
            type="button"
            aria-label={mail === null ? texts.add : house.editOf(texts.title)}
            onClick={() => {
              open.value = 'edit';
            }}
          >
            {mail === null ? texts.add : house.edit}
          </button>
        )}
        {mail !== null && <Menu label={house.actionsOf(visible(mail.address))} items={items} />}
      </div>
      <Failure error={fault.value} />
      {open.value === 'edit' && (
        <EditDialog
          title={texts.edit}
          submitLabel={texts.confirm}
          change={(typed) =>
            send(SetMailAddress, { address: String(typed.get('address')).trim(), events: mail?.events ?? null })
          }
          onTried={again}
          onClose={close}
        >
          <label class="field">
            <span>{texts.yourAddress}</span>
            <input
              name="address"
              type="email"
              required
              maxLength={254}
              placeholder={texts.example}
              defaultValue={mail?.address ?? ''}
            />
          </label>
          <p class="small quiet">{texts.link}</p>
        </EditDialog>
      )}
      {open.value === 'delete' && mail !== null && (
        <EditDialog
          title={texts.deleteQuestion(visible(mail.address))}
          submitLabel={texts.deleteNow}
          isDanger
          change={() => send(DeleteMailAddress, {})}
          onTried={again}
          onClose={close}
        >
          <p>{texts.deleteHint}</p>
        </EditDialog>
      )}
    </section>
  );
}

/** Shows in one word whether the address receives notices. */
function Badge({ of: mail }: { of: Address }) {
  if (isMailed(mail)) return <span class="badge good">{texts.isActive}</span>;
  return <span class="badge warn">{mail.pausedAt === null ? texts.isUnconfirmed : texts.isPaused}</span>;
}

/** Describes what the address receives, or why it receives nothing. */
function State({ of: { events, waiting, attempts, pausedAt, pauseReason, confirmedAt, confirmBy } }: { of: Address }) {
  if (pausedAt !== null) return texts.paused(<LocalTime at={secondsOf(pausedAt)} />, visible(pauseReason ?? ''));
  if (confirmedAt === null) return texts.unconfirmed(<LocalTime at={secondsOf(confirmBy ?? '')} />);
  return (
    <>
      <NoticesOf name={texts.title} events={events} waiting={waiting} />
      {attempts[0]?.error === null && <> · {webhookTexts.lastSent(<Ago at={secondsOf(attempts[0].at)} />)}</>}
    </>
  );
}

interface NoticesProps {
  /** The channel's name. */
  name: string;
  events: Events;
  waiting: number;
}

/** Shows a recipient's channel, how many kinds of notices it receives, and how many events are waiting. */
export function NoticesOf({ name, events, waiting }: NoticesProps) {
  const parts = [name, webhookTexts.receives(receivedKinds(events).length, Object.keys(NOTICE_KINDS).length)];
  if (waiting > 0) parts.push(webhookTexts.waiting(waiting));
  return parts.join(' · ');
}
