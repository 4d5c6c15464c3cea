import { signal, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { CreateSecret, DeleteSecret, Secrets as SecretsDocument } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Dialog } from '../parts/dialog.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { useRead } from '../state/read.js';

type Secret = NonNullable<ResultOf<typeof SecretsDocument>['secrets']>[number];

/** Counts what the page changed of them. */
const changes = signal(0);

/** The account's secrets by name; null until they are known. */
export function useSecrets(isSignedIn = true) {
  const { data, error } = useRead(SecretsDocument, isSignedIn ? {} : null, changes);
  return { secrets: data.value?.secrets ?? null, error: error.value };
}

/** Values that launches name: made and deleted here, and shown nowhere. */
export function Secrets() {
  const { secrets, error } = useSecrets();
  const isMaking = useSignal(false);
  const deleting = useSignal<Secret | null>(null);
  return (
    <section class="panel" aria-labelledby="secrets">
      <div class="panel-head">
        <h2 id="secrets">Secrets</h2>
        <p class="small quiet">Tokens and passwords for what you launch. Stored encrypted, never shown again.</p>
      </div>
      <div class="padded">
        <button
          type="button"
          onClick={() => {
            isMaking.value = true;
          }}
        >
          New secret
        </button>
      </div>
      <Failure error={error} />
      {secrets !== null && secrets.length === 0 && <Empty title="No secrets yet" />}
      {secrets !== null && secrets.length > 0 && (
        <Table isCards columns={[['Name'], ['For'], ['Created'], ['Delete', 'unseen']]}>
          {secrets.map((secret) => (
            <tr key={secret.name}>
              <th scope="row" class="wide mono">
                {secret.name}
              </th>
              <td class="wide" data-label="For">
                {secret.kind === 'VALUE'
                  ? 'variables and files'
                  : `images of ${visible(secret.registry ?? '')}, as ${visible(secret.username ?? '')}`}
              </td>
              <td class="wide" data-label="Created">
                <Time at={secondsOf(secret.createdAt)} />
              </td>
              <td class="number wide">
                <button
                  type="button"
                  class="danger"
                  aria-label={`Delete ${secret.name}`}
                  onClick={() => {
                    deleting.value = secret;
                  }}
                >
                  Delete
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {isMaking.value && (
        <NewSecret
          onClose={() => {
            isMaking.value = false;
          }}
        />
      )}
      {deleting.value !== null && (
        <DeleteIt
          secret={deleting.value}
          onClose={() => {
            deleting.value = null;
          }}
        />
      )}
    </section>
  );
}

/** `onClose` gets the name of the secret that was made. */
export function NewSecret({ onClose }: { onClose(made: string | null): void }) {
  const isLogin = useSignal(false);
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const create = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy.value) return;
    const typed = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(typed.get(name) ?? '');
    const login = isLogin.value ? { registry: text('registry').trim(), username: text('username').trim() } : {};
    isBusy.value = true;
    error.value = null;
    try {
      // Pasted from a page or terminal, it often brings the end of its line along.
      const input = { name: text('secret-name').trim(), value: text('secret-value').replace(/\r?\n$/, ''), ...login };
      const { createSecret } = await send(CreateSecret, { input });
      onClose(createSecret?.name ?? null);
    } catch (fault) {
      error.value = fault;
    } finally {
      isBusy.value = false;
      // Without an answer it may be there all the same.
      changes.value += 1;
    }
  };
  return (
    <Dialog title="New secret" isNarrow onClose={() => onClose(null)}>
      <form onSubmit={create}>
        <div class="dialog-body stack">
          <label class="field">
            <span>Name</span>
            <input name="secret-name" required maxLength={63} autocomplete="off" spellcheck={false} placeholder="hf" />
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={isLogin.value}
              onChange={({ currentTarget }) => {
                isLogin.value = currentTarget.checked;
              }}
            />
            It is a login that images are pulled with
          </label>
          {isLogin.value && (
            <div class="two">
              <label class="field">
                <span>Registry</span>
                <input name="registry" required autocomplete="off" spellcheck={false} placeholder="ghcr.io" />
              </label>
              <label class="field">
                <span>User name there</span>
                <input name="username" required autocomplete="off" spellcheck={false} />
              </label>
            </div>
          )}
          <label class="field">
            <span>{isLogin.value ? 'Password or token' : 'Value'}</span>
            <textarea name="secret-value" class="mono veiled" rows={3} required autocomplete="off" spellcheck={false} />
          </label>
          <p class="small quiet">It is sent once, stored encrypted, and shown to nobody again.</p>
          <Failure error={error.value} />
        </div>
        <div class="dialog-end">
          <button type="button" onClick={() => onClose(null)}>
            Cancel
          </button>
          <button type="submit" class="primary" aria-disabled={isBusy.value}>
            Store it
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function DeleteIt({ secret: { name }, onClose }: { secret: Secret; onClose(): void }) {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const remove = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      await send(DeleteSecret, { name });
      onClose();
    } catch (fault) {
      error.value = fault;
      isBusy.value = false;
    } finally {
      changes.value += 1;
    }
  };
  return (
    <Dialog title={`Delete ${name}?`} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        <p>Containers that run keep what they were given. A later start that needs it fails and says so.</p>
        <Failure error={error.value} />
      </div>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="danger" aria-disabled={isBusy.value} onClick={remove}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
