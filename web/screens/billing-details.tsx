import type { ResultOf } from 'gql.tada';
import { BillingDetails, SetBillingDetails } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/notice.js';
import { useRead } from '../state/read.js';
import { say } from '../state/toasts.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/downloads.js';
import { texts as house } from '../texts/en/house.js';

type Details = NonNullable<ResultOf<typeof BillingDetails>['billingDetails']>;

/** A dialog that shows and changes what the account wants on its invoices. */
export function BillingDetailsDialog({ onClose }: { onClose(): void }) {
  const { data, error } = useRead(BillingDetails, {});
  const details = data.value?.billingDetails ?? null;
  return (
    <Dialog title={texts.details} isNarrow onClose={onClose}>
      {details === null ? (
        <div class="dialog-body">
          {error.value === null ? <p class="quiet">{house.moment}</p> : <Failure error={error.value} />}
        </div>
      ) : (
        <Fields details={details} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Fields({ details, onClose }: { details: Details; onClose(): void }) {
  const { isBusy, error, run } = useWork();
  const store = async (event: SubmitEvent) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: keyof Details) => String(typed.get(name)).trim();
    const changed = { name: text('name'), address: text('address'), reference: text('reference') };
    if (!(await run(() => send(SetBillingDetails, changed)))) return;
    say(texts.stored);
    onClose();
  };
  return (
    <form onSubmit={store}>
      <div class="dialog-body stack">
        <p class="small quiet">{texts.detailsUse}</p>
        <label class="field">
          <span>{texts.name}</span>
          <input name="name" maxLength={200} autocomplete="organization" defaultValue={details.name} />
        </label>
        <label class="field">
          <span>{texts.address}</span>
          <textarea
            name="address"
            rows={4}
            maxLength={500}
            autocomplete="street-address"
            defaultValue={details.address}
          />
        </label>
        <label class="field">
          <span>{texts.reference}</span>
          <input name="reference" maxLength={100} autocomplete="off" defaultValue={details.reference} />
        </label>
        <Failure error={error.value} />
      </div>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          {texts.cancel}
        </button>
        <button type="submit" class="primary" aria-disabled={isBusy.value}>
          {texts.store}
        </button>
      </div>
    </form>
  );
}
