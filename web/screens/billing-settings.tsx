import { useSignal } from '@preact/signals';
import { micro } from '../figures/money.js';
import { visible } from '../figures/visible.js';
import { SetBalanceNotice, SetMonthlyLimit } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Amount } from '../parts/amount.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Setting } from '../parts/setting.js';
import type { MoneyRead } from '../state/money-read.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/billing-settings.js';
import { BillingDetailsDialog } from './billing-details.js';
import { LimitDialog, LimitUse } from './limit.js';

interface Props {
  read: MoneyRead;
  onChanged(): void;
}

/** Shows the account's limit, low-balance notification and billing details as lines, each with a dialog that changes it. */
export function BillingSettings({ read: { account, balanceNotice, billingDetails }, onChanged }: Props) {
  const editing = useSignal<'limit' | 'notice' | 'details' | null>(null);
  const close = () => {
    editing.value = null;
  };
  return (
    <section class="panel" aria-labelledby="billing-settings">
      <div class="panel-head">
        <h2 id="billing-settings">{texts.title}</h2>
      </div>
      <dl class="setting-list">
        {account !== null && (
          <Setting
            name={texts.limit}
            onEdit={() => {
              editing.value = 'limit';
            }}
          >
            {account.monthlyLimit === null ? (
              <span class="quiet">{texts.noLimit}</span>
            ) : (
              <LimitUse limit={account.monthlyLimit} used={account.monthSpend} usedText={texts.limitUsed} />
            )}
          </Setting>
        )}
        <NoticeSetting
          below={balanceNotice}
          onEdit={() => {
            editing.value = 'notice';
          }}
        />
        {billingDetails !== null && (
          <Setting
            name={texts.details}
            onEdit={() => {
              editing.value = 'details';
            }}
          >
            {visible(Object.values(billingDetails).filter(Boolean).join(', ').replaceAll('\n', ', ')) || (
              <span class="quiet">{texts.noDetails}</span>
            )}
          </Setting>
        )}
      </dl>
      {editing.value === 'limit' && account !== null && (
        <LimitDialog
          title={texts.limit}
          hint={texts.limitHint}
          label={texts.limitLabel}
          limit={account.monthlyLimit}
          set={(usd) => send(SetMonthlyLimit, { monthlyLimit: usd })}
          onChanged={onChanged}
          onClose={close}
        />
      )}
      {editing.value === 'notice' && <NoticeDialog below={balanceNotice} onChanged={onChanged} onClose={close} />}
      {editing.value === 'details' && billingDetails !== null && (
        <BillingDetailsDialog details={billingDetails} onChanged={onChanged} onClose={close} />
      )}
    </section>
  );
}

/** Shows at which balance the account is notified. */
const NoticeSetting = ({ below, onEdit }: { below: number | null; onEdit(): void }) => (
  <Setting name={texts.notice} onEdit={onEdit}>
    {below === null ? (
      <span class="quiet">{texts.noNotice}</span>
    ) : (
      texts.noticeAt(<Amount of={micro(below)} unit="USD" />)
    )}
  </Setting>
);

interface NoticeProps {
  below: number | null;
  onChanged(): void;
  onClose(): void;
}

/** A dialog that changes or disables the low-balance notification. */
export function NoticeDialog({ below, onChanged, onClose }: NoticeProps) {
  const change = async (typed: FormData) => {
    const text = String(typed.get('below'));
    await send(SetBalanceNotice, { below: text === '' ? null : Number(text) });
    say(text === '' ? texts.noticeRemoved : texts.noticeSet);
  };
  return (
    <EditDialog title={texts.notice} change={change} onTried={onChanged} onClose={onClose}>
      <p>{texts.noticeHint}</p>
      <label class="field">
        <span>{texts.noticeLabel}</span>
        <input
          name="below"
          type="number"
          min={0}
          step="any"
          inputMode="decimal"
          placeholder={texts.noNotice}
          defaultValue={String(below ?? '')}
        />
      </label>
    </EditDialog>
  );
}
