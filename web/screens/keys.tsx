import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { ApiKeys, CreateApiKey, RevokeApiKey } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Dialog } from '../parts/dialog.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { accountChanges } from '../state/account.js';
import { useRead } from '../state/read.js';
import { sessionIsOver } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { SshKeys } from './ssh-keys.js';

type Key = NonNullable<ResultOf<typeof ApiKeys>['apiKeys']>[number];

export function Keys() {
  const { data, error, again } = useRead(ApiKeys, {}, accountChanges);
  const revoking = useSignal<Key | null>(null);
  useTitle('Keys');
  const keys = data.value?.apiKeys ?? null;
  const live = keys?.filter(({ revokedAt }) => revokedAt === null) ?? [];
  const revoked = keys?.filter(({ revokedAt }) => revokedAt !== null) ?? [];
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Keys</h1>
      <Failure error={error.value} />
      <section class="panel" aria-labelledby="api-keys">
        <div class="panel-head">
          <h2 id="api-keys">API keys</h2>
          <p class="small quiet">Whoever has one can do everything this account can.</p>
        </div>
        <NewKey onTried={again} />
        {keys !== null && live.length === 0 && <Empty title="No key is accepted">Create one above.</Empty>}
        {live.length > 0 && (
          <Table isCards columns={[['Name'], ['Key'], ['Created'], ['Last use'], ['Revoke', 'unseen']]}>
            {live.map((key) => (
              <tr key={key.id}>
                <th scope="row" class="wide">
                  {key.name === null ? <span class="quiet">without a name</span> : visible(key.name)}{' '}
                  {key.isCurrent && <span class="badge good">this session</span>}
                </th>
                <td class="mono wide" data-label="Key">
                  {key.prefix}…{key.lastFour}
                </td>
                <td class="wide" data-label="Created">
                  <Time at={secondsOf(key.createdAt)} />
                </td>
                <td class="wide" data-label="Last use">
                  {key.lastUsedAt === null ? <span class="quiet">never</span> : <Time at={secondsOf(key.lastUsedAt)} />}
                </td>
                <td class="number wide">
                  <button
                    type="button"
                    class="danger"
                    aria-label={`Revoke ${visible(key.name ?? `the key …${key.lastFour}`)}`}
                    onClick={() => {
                      revoking.value = key;
                    }}
                  >
                    Revoke
                  </button>
                </td>
              </tr>
            ))}
          </Table>
        )}
        {revoked.length > 0 && (
          <p class="padded small quiet">
            Revoked:{' '}
            {revoked.map(({ name, lastFour }) => `${name === null ? '' : `${visible(name)} `}…${lastFour}`).join(', ')}
          </p>
        )}
      </section>
      <SshKeys />
      {revoking.value !== null && (
        <Revoke
          apiKey={revoking.value}
          onClose={(isDone) => {
            const wasCurrent = revoking.value?.isCurrent === true;
            revoking.value = null;
            if (isDone && wasCurrent) sessionIsOver();
            else if (isDone) again();
          }}
        />
      )}
    </div>
  );
}

function NewKey({ onTried }: { onTried(): void }) {
  const name = useSignal('');
  const secret = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const create = async (event: Event) => {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    error.value = null;
    try {
      const { createApiKey } = await send(CreateApiKey, { name: name.value.trim() || null });
      secret.value = createApiKey?.secret ?? null;
      name.value = '';
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
      <form class="row" onSubmit={create}>
        <label class="row">
          <span class="quiet small">Name</span>
          <input
            name="name"
            maxLength={100}
            placeholder="laptop, build server …"
            value={name}
            onInput={({ currentTarget }) => {
              name.value = currentTarget.value;
            }}
          />
        </label>
        <button type="submit" aria-disabled={isBusy.value}>
          Create a key
        </button>
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

function Revoke({ apiKey, onClose }: { apiKey: Key; onClose(isDone: boolean): void }) {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  const revoke = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    try {
      await send(RevokeApiKey, { id: apiKey.id });
      onClose(true);
    } catch (fault) {
      error.value = fault;
      isBusy.value = false;
    }
  };
  return (
    <Dialog
      title={`Revoke ${visible(apiKey.name ?? `the key …${apiKey.lastFour}`)}?`}
      isNarrow
      onClose={() => onClose(false)}
    >
      <div class="dialog-body stack">
        <p>Programs that use it are refused at once. This cannot be undone.</p>
        {apiKey.isCurrent && (
          <p class="notice warn">
            This session was made from this key: you are signed out with it. Without another key you cannot sign in
            again.
          </p>
        )}
        <Failure error={error.value} />
      </div>
      <div class="dialog-end">
        <button type="button" onClick={() => onClose(false)}>
          Keep it
        </button>
        <button type="button" class="danger" aria-disabled={isBusy.value} onClick={revoke}>
          Revoke
        </button>
      </div>
    </Dialog>
  );
}
