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
import { serverNow } from '../state/clock.js';
import { useRead } from '../state/read.js';
import { sessionIsOver } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { Limit } from './limit.js';
import { NewKey } from './new-key.js';
import { Secrets } from './secrets.js';
import { SshKeys } from './ssh-keys.js';

type Key = NonNullable<ResultOf<typeof ApiKeys>['apiKeys']>[number];

/** API keys, SSH keys and secrets. */
export function Keys() {
  useTitle('Keys and secrets');
  return (
    <div class="stack">
      <h1 tabIndex={-1}>Keys and secrets</h1>
      <p>
        <a href="/activity">Activity</a>: what each key asked for. <a href="/webhooks">Notices</a>: who is told of what
        happens, by webhook or mail.
      </p>
      <ApiKeyList />
      <SshKeys />
      <Secrets />
    </div>
  );
}

function ApiKeyList() {
  const { data, error, again } = useRead(ApiKeys, {}, accountChanges);
  const revoking = useSignal<Key | null>(null);
  const limiting = useSignal<string | null>(null);
  const keys = data.value?.apiKeys ?? null;
  const live = keys?.filter(({ revokedAt }) => revokedAt === null) ?? [];
  const limited = live.find(({ id }) => id === limiting.value);
  const revoked = keys?.filter(({ revokedAt }) => revokedAt !== null) ?? [];
  return (
    <>
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
              <KeyRow
                key={key.id}
                apiKey={key}
                onLimit={() => {
                  limiting.value = key.id;
                }}
                onRevoke={() => {
                  revoking.value = key;
                }}
              />
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
      {limited !== undefined && (
        <LimitOf
          apiKey={limited}
          onChanged={again}
          onClose={() => {
            limiting.value = null;
          }}
        />
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
    </>
  );
}

/** How a key is called where there may be others without a name. */
const nameOf = ({ name, lastFour }: Key): string => visible(name ?? `the key …${lastFour}`);

interface RowProps {
  apiKey: Key;
  onLimit(): void;
  onRevoke(): void;
}

function KeyRow({ apiKey: key, onLimit, onRevoke }: RowProps) {
  return (
    <tr>
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
        <span class="row">
          {key.scopes === null ? (
            <span class="badge warn">everything</span>
          ) : (
            key.scopes.map((scope) => (
              <span key={scope} class="badge">
                {scope.toLowerCase()}
              </span>
            ))
          )}
        </span>
        {key.networks !== null && <div class="small quiet mono">from {key.networks.join(', ')}</div>}
      </td>
      <td class="wide" data-label="Limit">
        <LimitCell apiKey={key} />{' '}
        <button type="button" class="plain" aria-label={`Change the limit of ${nameOf(key)}`} onClick={onLimit}>
          Change
        </button>
      </td>
      <td class="wide" data-label="Ends">
        <Ends at={key.expiresAt} />
      </td>
      <td class="wide" data-label="Last use">
        <LastUse apiKey={key} />
      </td>
      <td class="number wide">
        <button type="button" class="danger" aria-label={`Revoke ${nameOf(key)}`} onClick={onRevoke}>
          Revoke
        </button>
      </td>
    </tr>
  );
}

const DAY = 86_400;
/** Programs that use a key which ends this soon need another. */
const ENDS_SOON_SECONDS = 7 * DAY;
/** A key that nothing uses for this long is a risk alone. */
const UNUSED_SECONDS = 90 * DAY;

function Ends({ at }: { at: string | null }) {
  if (at === null) return <span class="quiet">never</span>;
  const left = secondsOf(at) - serverNow.value;
  return (
    <>
      <Time at={secondsOf(at)} />{' '}
      {left <= 0 ? (
        <span class="badge bad">over</span>
      ) : (
        left < ENDS_SOON_SECONDS && <span class="badge warn">ends soon</span>
      )}
    </>
  );
}

function LastUse({ apiKey: { lastUsedAt, createdAt } }: { apiKey: Key }) {
  const isUnused = serverNow.value - secondsOf(lastUsedAt ?? createdAt) > UNUSED_SECONDS;
  return (
    <>
      {lastUsedAt === null ? <span class="quiet">never</span> : <Time at={secondsOf(lastUsedAt)} />}{' '}
      {isUnused && <span class="badge warn">unused for 90 days: revoke it?</span>}
    </>
  );
}

function LimitCell({ apiKey: { monthlyLimit, monthSpend, limitReachedAt } }: { apiKey: Key }) {
  if (monthlyLimit === null) return <span class="quiet">none</span>;
  return (
    <>
      {usd(micro(monthSpend ?? 0), 2)} of {usd(micro(monthlyLimit), 2)} USD
      <div class="small quiet">
        {limitReachedAt === null ? (
          'this month'
        ) : (
          <>
            reached <Time at={secondsOf(limitReachedAt)} />
          </>
        )}
      </div>
    </>
  );
}

interface LimitProps {
  apiKey: Key;
  onChanged(): void;
  onClose(): void;
}

function LimitOf({ apiKey, onChanged, onClose }: LimitProps) {
  return (
    <Dialog title={`Limit of ${nameOf(apiKey)}`} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        <p>What it deployed or started last stops at the second at which the limit is reached.</p>
        <Limit
          label="May spend in a UTC month"
          words="spent by it this month"
          limit={apiKey.monthlyLimit}
          used={apiKey.monthSpend}
          reachedAt={apiKey.limitReachedAt}
          set={(amount) => send(SetApiKeyLimit, { id: apiKey.id, monthlyLimit: amount })}
          onChanged={onChanged}
        />
      </div>
    </Dialog>
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
