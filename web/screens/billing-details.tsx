import type { ResultOf } from 'gql.tada';
import { BillingDetails, SetBillingDetails } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Failure } from '../parts/notice.js';
import { useRead } from '../state/read.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/downloads.js';
import { texts as house } from '../texts/en/house.js';

type Details = NonNullable<ResultOf<typeof BillingDetails>['billingDetails']>;

/** A dialog that shows and changes what the account wants on its invoices. */
export function BillingDetailsDialog({ onClose }: { onClose(): void }) {
  const { data, error } = useRead(BillingDetails, {});
  const details = data.value?.billingDetails ?? null;
  const store = async (typed: FormData) => {
    const text = (name: keyof Details) => String(typed.get(name)).trim();
    await send(SetBillingDetails, { name: text('name'), address: text('address'), reference: text('reference') });
    say(texts.stored);
  };
  return (
    <EditDialog title={texts.details} isReady={details !== null} change={store} onClose={onClose}>
      {details !== null ? (
        <Fields details={details} />
      ) : error.value === null ? (
        <p class="quiet">{house.moment}</p>
      ) : (
        <Failure error={error.value} />
      )}
    </EditDialog>
  );
}

const Fields = ({ details }: { details: Details }) => (
  <>
    <p class="small quiet">{texts.detailsUse}</p>
    <label class="field">
      <span>{texts.name}</span>
      <input name="name" maxLength={200} autocomplete="organization" defaultValue={details.name} />
    </label>
    <label class="field">
      <span>{texts.address}</span>
      <textarea name="address" rows={4} maxLength={500} autocomplete="street-address" defaultValue={details.address} />
    </label>
    <label class="field">
      <span>{texts.reference}</span>
      <input name="reference" maxLength={100} autocomplete="off" defaultValue={details.reference} />
    </label>
  </>
);
