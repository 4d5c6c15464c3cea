import { useSignal } from '@preact/signals';
import { CreateApiKey } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Failure } from '../parts/notice.js';

const SCOPES = [
  ['READ', 'read everything but logs and secrets'],
  ['RENT', 'rent, start, stop, destroy'],
  ['ACCESS', 'SSH keys, terminals, web links, open ports, logs, secrets'],
  ['MONEY', 'make top-ups'],
  ['KEYS', 'create and revoke keys, say who is told of events'],
] as const;

const ENDS = [
  ['', 'Never'],
  ['1d', 'In a day'],
  ['30d', 'In 30 days'],
  ['90d', 'In 90 days'],
  ['365d', 'In a year'],
] as const;

/** Makes a key of no more power than this session's, and shows it once. */
export function NewKey({ onTried }: { onTried(): void }) {
  const secret = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const create = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy.value) return;
    const form = event.currentTarget as HTMLFormElement;
    const typed = new FormData(form);
    const scopes = SCOPES.map(([scope]) => scope).filter((scope) => typed.has(scope));
    const networks = String(typed.get('networks'))
      .split(/[\s,]+/)
      .filter((each) => each !== '');
    isBusy.value = true;
    error.value = null;
    try {
      const { createApiKey } = await send(CreateApiKey, {
        name: String(typed.get('name')).trim() || null,
        scopes: scopes.length === 0 || scopes.length === SCOPES.length ? null : scopes,
        expiresAt: String(typed.get('expires')) || null,
        networks: networks.length === 0 ? null : networks,
        monthlyLimit: String(typed.get('limit')) === '' ? null : Number(typed.get('limit')),
      });
      secret.value = createApiKey?.secret ?? null;
      form.reset();
    } catch (fault) {
      error.value = fault;
    } finally {
      isBusy.value = false;
      // Without an answer it may be there all the same.
      onTried();
    }
  };
  return (
    <div class="padded stack">
      <form class="stack-tight" onSubmit={create}>
        <div class="row">
          <label class="row">
            <span class="quiet small">Name</span>
            <input name="name" maxLength={60} placeholder="laptop, build server …" />
          </label>
          <button type="submit" aria-disabled={isBusy.value}>
            Create a key
          </button>
        </div>
        <details>
          <summary>With less power</summary>
          <fieldset class="stack-tight">
            <legend class="small quiet">What it may; with none chosen, what this session may</legend>
            {SCOPES.map(([scope, meaning]) => (
              <label key={scope} class="check">
                <input type="checkbox" name={scope} />
                <span>
                  {scope.toLowerCase()} <span class="quiet small">{meaning}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <div class="two">
            <label class="field">
              <span>Ends</span>
              <select name="expires">
                {ENDS.map(([value, label]) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>Only from these networks</span>
              <input name="networks" spellcheck={false} class="mono" placeholder="203.0.113.0/24, 2001:db8::/32" />
            </label>
            <label class="field">
              <span>May spend in a month (UTC), in USD</span>
              <input name="limit" type="number" min={0} step="any" inputMode="decimal" placeholder="no limit" />
            </label>
          </div>
        </details>
      </form>
      <Failure error={error.value} />
      {secret.value !== null && (
        <div class="notice good stack-tight" role="status">
          <strong>Your new key, shown this once</strong>
          <code class="secret">{secret.value}</code>
          <span class="row">
            <Copy text={secret.value} label="Copy the key" />
            <button
              type="button"
              onClick={() => {
                secret.value = null;
              }}
            >
              I have it
            </button>
          </span>
        </div>
      )}
    </div>
  );
}
