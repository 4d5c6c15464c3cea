import { useSignal } from '@preact/signals';
import { CreateApiKey } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Failure } from '../parts/notice.js';
import { useWork } from '../state/work.js';
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

/** Creates a key that has at most this session's scopes. The key is shown only once. */
export function NewKey({ onTried }: { onTried(): void }) {
  const secret = useSignal<string | null>(null);
  const { isBusy, error, run } = useWork(onTried);
  const create = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const typed = new FormData(form);
    const scopes = SCOPES.filter((scope) => typed.has(scope));
    const networks = String(typed.get('networks'))
      .split(/[\s,]+/)
      .filter((each) => each !== '');
    await run(async () => {
      const { createApiKey } = await send(CreateApiKey, {
        name: String(typed.get('name')).trim() || null,
        scopes: scopes.length === 0 || scopes.length === SCOPES.length ? null : scopes,
        expiresAt: String(typed.get('expires')) || null,
        networks: networks.length === 0 ? null : networks,
        monthlyLimit: String(typed.get('limit')) === '' ? null : Number(typed.get('limit')),
      });
      secret.value = createApiKey?.secret ?? null;
      form.reset();
    });
  };
  return (
    <div class="padded stack">
      <form class="stack-tight" onSubmit={create}>
        <div class="row">
          <label class="row">
            <span class="quiet small">{texts.name}</span>
            <input name="name" maxLength={60} placeholder={texts.nameExample} />
          </label>
          <button type="submit" aria-disabled={isBusy.value}>
            {texts.create}
          </button>
        </div>
        <details>
          <summary>{texts.restrict}</summary>
          <fieldset class="stack-tight">
            <legend class="small quiet">{texts.scopes}</legend>
            {SCOPES.map((scope) => (
              <label key={scope} class="check">
                <input type="checkbox" name={scope} />
                <span>
                  {scope.toLowerCase()} <span class="quiet small">{texts.may[scope]}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <div class="two">
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
            <label class="field">
              <span>{texts.networks}</span>
              <input name="networks" spellcheck={false} class="mono" placeholder={NETWORKS_EXAMPLE} />
            </label>
            <label class="field">
              <span>{texts.maySpend}</span>
              <input name="limit" type="number" min={0} step="any" inputMode="decimal" placeholder={texts.noLimit} />
            </label>
          </div>
        </details>
      </form>
      <Failure error={error.value} />
      {secret.value !== null && (
        <div class="notice good stack-tight" role="status">
          <strong>{texts.created}</strong>
          <code class="secret">{secret.value}</code>
          <span class="row">
            <Copy text={secret.value} label={texts.copy} />
            <button
              type="button"
              onClick={() => {
                secret.value = null;
              }}
            >
              {texts.haveIt}
            </button>
          </span>
        </div>
      )}
    </div>
  );
}
