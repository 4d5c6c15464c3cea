import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { DeleteMailAddress, MailAddress, SetMailAddress, TestMailAddress } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { LocalTime } from '../parts/local-time.js';
import { Menu, type MenuItem } from '../parts/menu.js';
import { Failure } from '../parts/notice.js';
import { Setting } from '../parts/setting.js';
import { useRead } from '../state/read.js';
import { say } from '../state/toasts.js';
import { useWork } from '../state/work.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/mail.js';

type Address = NonNullable<ResultOf<typeof MailAddress>['mailAddress']>;

/** Shows the address that receives notifications by email, with dialogs that change and delete it. */
export function Mail() {
  const { data, error, again } = useRead(MailAddress, {});
  const { error: fault, run: work } = useWork(again);
  const open = useSignal<'edit' | 'delete' | null>(null);
  const close = () => {
    open.value = null;
  };
  const mail = data.value?.mailAddress ?? null;
  // If mail is disabled, nothing can be set, but an earlier address can be deleted.
  const isOffered = data.value?.sendsMail === true;
  if (error.value === null && mail === null && !isOffered) return null;
  const isSent = mail !== null && mail.confirmedAt !== null && mail.pausedAt === null;
  const test = () =>
    work(async () => {
      await send(TestMailAddress, {});
      say(texts.tested);
    });
  const items: MenuItem[] = [
    ...(isSent ? [{ name: texts.test, icon: 'bell', onChoose: () => void test() }] : []),
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
    <section class="panel" aria-labelledby="mail">
      <div class="panel-head">
        <div>
          <h2 id="mail">{texts.title}</h2>
          <p class="small quiet">{texts.what}</p>
        </div>
      </div>
      <dl class="setting-list">
        <Setting
          name={texts.address}
          onEdit={() => {
            open.value = 'edit';
          }}
          more={mail !== null && <Menu label={house.actionsOf(visible(mail.address))} items={items} />}
        >
          <span role="status">{mail === null ? <span class="quiet">{texts.none}</span> : <State of={mail} />}</span>
        </Setting>
      </dl>
      <Failure error={fault.value ?? error.value} />
      {open.value === 'edit' && (
        <EditDialog
          title={texts.edit}
          submitLabel={texts.confirm}
          change={(typed) => send(SetMailAddress, { address: String(typed.get('address')).trim() })}
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

function State({ of: { address, events, waiting, pausedAt, pauseReason, confirmedAt, confirmBy } }: { of: Address }) {
  const to = <strong class="mono">{visible(address)}</strong>;
  if (pausedAt !== null) return texts.paused(to, <LocalTime at={secondsOf(pausedAt)} />, visible(pauseReason ?? ''));
  if (confirmedAt === null) return texts.unconfirmed(to, <LocalTime at={secondsOf(confirmBy ?? '')} />);
  return events === null ? texts.getsAll(to, waiting) : texts.gets(to, <code>{events.join(', ')}</code>, waiting);
}
