import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { micro, usd } from '../figures/money.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { ApiKeys, RevokeApiKey, SetApiKeyLimit } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Dialog } from '../parts/dialog.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { accountChanges } from '../state/account.js';
import { useRead } from '../state/read.js';
import { sessionIsOver } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { Limit } from './limit.js';
import { NewKey } from './new-key.js';
import { Secrets } from './secrets.js';
import { SshKeys } from './ssh-keys.js';

type Key = NonNullable<ResultOf<typeof ApiKeys>['apiKeys']>[number];

export function Keys() {
  const { data, error, again } = useRead(ApiKeys, {}, accountChanges);
  const revoking = useSignal<Key | null>(null);
  const limiting = useSignal<string | null>(null);
  useTitle('Keys and secrets');
  const keys = data.value?.apiKeys ?? null;
  const live = keys?.filter(({ revokedAt }) => revokedAt === null) ?? [];
  const limited = live.find(({ id }) => id === limiting.value);
  const revoked = keys?.filter(({ revokedAt }) => revokedAt !== null) ?? [];
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Keys and secrets</h1>
      <p>
        <a href="/activity">Activity</a>: what each key asked for. <a href="/webhooks">Notices</a>: who is told of what
        happens, by webhook or mail.
      </p>
      <Failure error={error.value} />
      <section class="panel" aria-labelledby="api-keys">
        <div class="panel-head">
          <h2 id="api-keys">API keys</h2>
          <p class="small quiet">
            Whoever has one can do what it may. Give each program a key of its own, with as little as it needs.
          </p>
        </div>
        <NewKey onTried={again} />
        {keys !== null && live.length === 0 && <Empty title="No key is accepted">Create one above.</Empty>}
        {live.length > 0 && (
          <Table
            isCards
            columns={[['Name'], ['Key'], ['May'], ['Limit'], ['Ends'], ['Last use'], ['Revoke', 'unseen']]}
          >
            {live.map((key) => (
              <tr key={key.id}>
                <th scope="row" class="wide">
                  {key.name === null ? <span class="quiet">without a name</span> : visible(key.name)}{' '}
                  {key.isCurrent && <span class="badge good">this session</span>}
                </th>
                <td class="mono wide" data-label="Key">
                  {key.prefix}…{key.lastFour}
                  <div class="small quiet">
                    made <Time at={secondsOf(key.createdAt)} />
                  </div>
                </td>
                <td class="wide" data-label="May">
                  {key.scopes === null ? 'everything' : key.scopes.join(', ').toLowerCase()}
                  {key.networks !== null && <div class="small quiet mono">from {key.networks.join(', ')}</div>}
                </td>
                <td class="wide" data-label="Limit">
                  {key.monthlyLimit === null ? (
                    <span class="quiet">none</span>
                  ) : (
                    <>
                      {usd(micro(key.monthSpend ?? 0), 2)} of {usd(micro(key.monthlyLimit), 2)} USD
                      <div class="small quiet">
                        {key.limitReachedAt === null ? (
                          'this month'
                        ) : (
                          <>
                            reached <Time at={secondsOf(key.limitReachedAt)} />
                          </>
                        )}
                      </div>
                    </>
                  )}{' '}
                  <button
                    type="button"
                    class="plain"
                    aria-label={`Change the limit of ${visible(key.name ?? `the key …${key.lastFour}`)}`}
                    onClick={() => {
                      limiting.value = key.id;
                    }}
                  >
                    Change
                  </button>
                </td>
                <td class="wide" data-label="Ends">
                  {key.expiresAt === null ? <span class="quiet">never</span> : <Time at={secondsOf(key.expiresAt)} />}
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
      <Secrets />
      {limited !== undefined && (
        <Dialog
          title={`Limit of ${visible(limited.name ?? `the key …${limited.lastFour}`)}`}
          isNarrow
          onClose={() => {
            limiting.value = null;
          }}
        >
          <div class="dialog-body stack">
            <p>What it deployed or started last stops at the second at which the limit is reached.</p>
            <Limit
              label="May spend in a UTC month"
              words="spent by it this month"
              limit={limited.monthlyLimit}
              used={limited.monthSpend}
              reachedAt={limited.limitReachedAt}
              set={(amount) => send(SetApiKeyLimit, { id: limited.id, monthlyLimit: amount })}
              onChanged={again}
            />
          </div>
        </Dialog>
      )}
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
