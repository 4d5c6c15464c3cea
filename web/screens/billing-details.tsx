import { SetBillingDetails } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { EditDialog } from '../parts/edit-dialog.js';
import type { MoneyRead } from '../state/money-read.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/billing-settings.js';

type Details = NonNullable<MoneyRead['billingDetails']>;

interface Props {
  details: Details;
  onChanged(): void;
  onClose(): void;
}

/** A dialog that changes the account's details on its invoices. */
export function BillingDetailsDialog({ details, onChanged, onClose }: Props) {
  const store = async (typed: FormData) => {
    const text = (name: keyof Details) => String(typed.get(name)).trim();
    await send(SetBillingDetails, { name: text('name'), address: text('address'), reference: text('reference') });
    say(texts.stored);
  };
  return (
    <EditDialog title={texts.details} change={store} onTried={onChanged} onClose={onClose}>
      <p>{texts.detailsUse}</p>
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
    </EditDialog>
  );
}
