import { useSignal } from '@preact/signals';
import { CreateApiKey } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Fold } from '../parts/fold.js';
import { ShownOnce } from '../parts/shown-once.js';
import { texts as keys } from '../texts/en/keys.js';
import { texts } from '../texts/en/new-key.js';

const SCOPES = ['READ', 'RENT', 'ACCESS', 'MONEY', 'KEYS'] as const;

const NETWORKS_EXAMPLE = '203.0.113.0/24, 2001:db8::/32';

const ENDS = [
  ['', texts.in.never],
  ['1d', texts.in.day],
  ['30d', texts.in.days30],
  ['90d', texts.in.days90],
  ['365d', texts.in.year],
] as const;

/** A dialog that creates a key with at most this session's scopes, and then shows it once. */
export function NewKey({ onTried, onClose }: { onTried(): void; onClose(): void }) {
  const secret = useSignal<string | null>(null);
  const create = async (typed: FormData) => {
    const scopes = SCOPES.filter((scope) => typed.has(scope));
    const networks = String(typed.get('networks'))
      .split(/[\s,]+/)
      .filter((each) => each !== '');
    const { createApiKey } = await send(CreateApiKey, {
      name: String(typed.get('name')).trim() || null,
      scopes: scopes.length === 0 || scopes.length === SCOPES.length ? null : scopes,
      expiresAt: String(typed.get('expires')) || null,
      networks: networks.length === 0 ? null : networks,
      monthlyLimit: String(typed.get('limit')) === '' ? null : Number(typed.get('limit')),
    });
    secret.value = createApiKey?.secret ?? null;
  };
  if (secret.value !== null)
    return <ShownOnce title={texts.created} secret={secret.value} copyLabel={texts.copy} onClose={onClose} />;
  return (
    <EditDialog
      title={texts.new}
      submitLabel={texts.create}
      change={create}
      onTried={onTried}
      // The dialog that shows the key replaces this one.
      onClose={() => secret.value === null && onClose()}
    >
      <div class="two">
        <label class="field">
          <span>{texts.name}</span>
          <input name="name" maxLength={60} autocomplete="off" placeholder={texts.nameExample} />
        </label>
        <label class="field">
          <span>{texts.ends}</span>
          <select name="expires">
            {ENDS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      </div>
      <fieldset>
        <legend>{texts.scopes}</legend>
        {SCOPES.map((scope) => (
          <label key={scope} class="check scope">
            <input type="checkbox" name={scope} />
            <span>
              {keys.scopes[scope]} <span class="quiet small">{texts.may[scope]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Fold title={texts.restrict}>
        <div class="two">
          <label class="field">
            <span>{texts.networks}</span>
            <input name="networks" spellcheck={false} class="mono" placeholder={NETWORKS_EXAMPLE} />
          </label>
          <label class="field">
            <span>{texts.maySpend}</span>
            <input name="limit" type="number" min={0} step="any" inputMode="decimal" placeholder={texts.noLimit} />
          </label>
        </div>
      </Fold>
    </EditDialog>
  );
}
