import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { micro, usd } from '../figures/money.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { ApiKeys, RevokeApiKey, SetApiKeyLimit } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Dialog } from '../parts/dialog.js';
import { loaded } from '../parts/loaded.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { accountChanges } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { useRead } from '../state/read.js';
import { sessionIsOver } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { texts } from '../texts/en/keys.js';
import { screens } from '../texts/en/screens.js';
import { Limit } from './limit.js';
import { NewKey } from './new-key.js';
import { Secrets } from './secrets.js';
import { SshKeys } from './ssh-keys.js';

const Passkeys = loaded(async () => (await import('./passkeys.js')).Passkeys);

type Key = NonNullable<ResultOf<typeof ApiKeys>['apiKeys']>[number];

/** API keys, SSH keys and secrets. */
export function Keys() {
  useTitle(screens['/keys']);
  return (
    <div class="stack">
      <h1 tabIndex={-1}>{screens['/keys']}</h1>
      <p>{texts.lead}</p>
      <ApiKeyList />
      <Passkeys />
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
          <h2 id="api-keys">{texts.apiKeys}</h2>
          <p class="small quiet">{texts.apiKeysHint}</p>
        </div>
        <NewKey onTried={again} />
        {keys !== null && live.length === 0 && (
          <Empty icon="key-round" title={texts.none}>
            {texts.noneHint}
          </Empty>
        )}
        {live.length > 0 && (
          <Table
            isCards
            columns={[
              [texts.name],
              [texts.key],
              [texts.may],
              [texts.limit],
              [texts.ends],
              [texts.lastUse],
              [texts.revoke, 'unseen'],
            ]}
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
            {texts.revoked(
              revoked.map(({ name, lastFour }) => `${name === null ? '' : `${visible(name)} `}…${lastFour}`).join(', '),
            )}
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

/** Returns a label for a key, because several may have no name. */
const nameOf = ({ name, lastFour }: Key): string => visible(name ?? texts.keyEnding(lastFour));

interface RowProps {
  apiKey: Key;
  onLimit(): void;
  onRevoke(): void;
}

function KeyRow({ apiKey: key, onLimit, onRevoke }: RowProps) {
  return (
    <tr>
      <th scope="row" class="wide">
        {key.name === null ? <span class="quiet">{texts.noName}</span> : visible(key.name)}{' '}
        {key.isCurrent && <span class="badge good">{texts.thisSession}</span>}
      </th>
      <td class="mono wide" data-label={texts.key}>
        {key.prefix}…{key.lastFour}
        <div class="small quiet">{texts.created(<Time at={secondsOf(key.createdAt)} />)}</div>
      </td>
      <td class="wide" data-label={texts.may}>
        <span class="row">
          {key.scopes === null ? (
            <span class="badge warn">{texts.everything}</span>
          ) : (
            key.scopes.map((scope) => (
              <span key={scope} class="badge">
                {scope.toLowerCase()}
              </span>
            ))
          )}
        </span>
        {key.networks !== null && <div class="small quiet mono">{texts.from(key.networks.join(', '))}</div>}
      </td>
      <td class="wide" data-label={texts.limit}>
        <LimitCell apiKey={key} />{' '}
        <button type="button" class="plain" aria-label={texts.changeLimit(nameOf(key))} onClick={onLimit}>
          {texts.change}
        </button>
      </td>
      <td class="wide" data-label={texts.ends}>
        <Ends at={key.expiresAt} />
      </td>
      <td class="wide" data-label={texts.lastUse}>
        <LastUse apiKey={key} />
      </td>
      <td class="number wide">
        <button type="button" class="danger" aria-label={texts.revokeKey(nameOf(key))} onClick={onRevoke}>
          {texts.revoke}
        </button>
      </td>
    </tr>
  );
}

const DAY = 86_400;
/** A key that expires within this time is highlighted, because its programs will need another one. */
const ENDS_SOON_SECONDS = 7 * DAY;
/** A key that hasn't been used for this long only poses a risk. */
const UNUSED_SECONDS = 90 * DAY;

function Ends({ at }: { at: string | null }) {
  if (at === null) return <span class="quiet">{texts.never}</span>;
  const left = secondsOf(at) - serverNow.value;
  return (
    <>
      <Time at={secondsOf(at)} />{' '}
      {left <= 0 ? (
        <span class="badge bad">{texts.over}</span>
      ) : (
        left < ENDS_SOON_SECONDS && <span class="badge warn">{texts.endsSoon}</span>
      )}
    </>
  );
}

function LastUse({ apiKey: { lastUsedAt, createdAt } }: { apiKey: Key }) {
  const isUnused = serverNow.value - secondsOf(lastUsedAt ?? createdAt) > UNUSED_SECONDS;
  return (
    <>
      {lastUsedAt === null ? <span class="quiet">{texts.never}</span> : <Time at={secondsOf(lastUsedAt)} />}{' '}
      {isUnused && <span class="badge warn">{texts.unused}</span>}
    </>
  );
}

function LimitCell({ apiKey: { monthlyLimit, monthSpend, limitReachedAt } }: { apiKey: Key }) {
  if (monthlyLimit === null) return <span class="quiet">{texts.noLimit}</span>;
  return (
    <>
      {texts.spentOf(usd(micro(monthSpend ?? 0), 2), usd(micro(monthlyLimit), 2))}
      <div class="small quiet">
        {limitReachedAt === null ? texts.thisMonth : texts.reached(<Time at={secondsOf(limitReachedAt)} />)}
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
    <Dialog title={texts.limitOf(nameOf(apiKey))} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        <p>{texts.limitHint}</p>
        <Limit
          label={texts.maySpend}
          usedText={texts.limitUsed}
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
    <Dialog title={texts.revokeQuestion(nameOf(apiKey))} isNarrow onClose={() => onClose(false)}>
      <div class="dialog-body stack">
        <p>{texts.revokeHint}</p>
        {apiKey.isCurrent && <p class="notice warn">{texts.revokeCurrent}</p>}
        <Failure error={error.value} />
      </div>
      <div class="dialog-end">
        <button type="button" onClick={() => onClose(false)}>
          {texts.keep}
        </button>
        <button type="button" class="danger" aria-disabled={isBusy.value} onClick={revoke}>
          {texts.revoke}
        </button>
      </div>
    </Dialog>
  );
}
