import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { micro } from '../figures/money.js';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { ApiKeys, RevokeApiKey, SetApiKeyLimit } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Ago } from '../parts/ago.js';
import { Amount } from '../parts/amount.js';
import { Dialog } from '../parts/dialog.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Facts } from '../parts/facts.js';
import { Icon } from '../parts/icon.js';
import { LocalTime } from '../parts/local-time.js';
import { Menu } from '../parts/menu.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { accountChanges } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { type Read, useRead } from '../state/read.js';
import { sessionIsOver } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/keys.js';
import { texts as newKey } from '../texts/en/new-key.js';
import { screens } from '../texts/en/screens.js';
import { LimitDialog } from './limit.js';
import { NewKey } from './new-key.js';
import { Passkeys } from './passkeys.js';
import { Secrets } from './secrets.js';
import { SshKeys } from './ssh-keys.js';

type Key = NonNullable<ResultOf<typeof ApiKeys>['apiKeys']>[number];

/** API keys, SSH keys, secrets and passkeys. They appear together, because later ones would move the others. */
export function Keys() {
  useTitle(screens['/keys']);
  const read = useRead(ApiKeys, {}, accountChanges);
  return (
    <div class="stack keys">
      <h1 tabIndex={-1}>{screens['/keys']}</h1>
      <p class="quiet">{house.moment}</p>
      <ApiKeyList read={read} />
      <SshKeys />
      <Secrets />
      <Passkeys apiKeys={read.data.value?.apiKeys ?? []} />
    </div>
  );
}

type Task = 'details' | 'limit' | 'revoke';

function ApiKeyList({ read: { data, error, again } }: { read: Read<ResultOf<typeof ApiKeys>> }) {
  const isCreating = useSignal(false);
  const open = useSignal<{ task: Task; id: string } | null>(null);
  const keys = data.value?.apiKeys ?? null;
  const live = keys?.filter(({ revokedAt }) => revokedAt === null) ?? [];
  const revoked = keys?.filter(({ revokedAt }) => revokedAt !== null) ?? [];
  return (
    <section class="panel" aria-busy={keys === null && error.value === null} aria-labelledby="api-keys">
      <div class="panel-head">
        <div>
          <h2 id="api-keys">{texts.apiKeys}</h2>
          <p class="small quiet">{texts.apiKeysHint}</p>
        </div>
        <button
          type="button"
          class="primary"
          onClick={() => {
            isCreating.value = true;
          }}
        >
          <Icon name="plus" />
          {newKey.new}
        </button>
      </div>
      <Failure error={error.value} />
      {keys !== null && live.length === 0 && (
        <Empty icon="key-round" title={texts.none}>
          {texts.noneHint}
        </Empty>
      )}
      {live.length > 0 && (
        <Table
          isCards
          class="listing labelled"
          columns={[
            [texts.name, undefined, 'key-subject'],
            [texts.may],
            [texts.limit, undefined, 'key-limit'],
            [texts.lastUse, undefined, 'key-time'],
            [texts.ends, undefined, 'key-time'],
            [texts.actions, 'unseen', 'at-end'],
          ]}
        >
          {live.map((key) => (
            <KeyRow
              key={key.id}
              apiKey={key}
              onTask={(task) => {
                open.value = { task, id: key.id };
              }}
            />
          ))}
        </Table>
      )}
      {revoked.length > 0 && (
        <p class="list-end small quiet">
          {texts.revoked(
            revoked.map(({ name, lastFour }) => `${name === null ? '' : `${visible(name)} `}…${lastFour}`).join(', '),
          )}
        </p>
      )}
      {isCreating.value && (
        <NewKey
          onTried={again}
          onClose={() => {
            isCreating.value = false;
          }}
        />
      )}
      <Open
        task={open.value?.task}
        apiKey={live.find(({ id }) => id === open.value?.id)}
        onChanged={again}
        onClose={() => {
          open.value = null;
        }}
      />
    </section>
  );
}

/** Returns a label for a key, because several may have no name. */
const nameOf = ({ name, lastFour }: Key): string => visible(name ?? texts.keyEnding(lastFour));

const TASKS = [
  ['details', 'info'],
  ['limit', 'gauge'],
  ['revoke', 'trash-2'],
] as const;

function KeyRow({ apiKey: key, onTask }: { apiKey: Key; onTask(task: Task): void }) {
  const items = TASKS.map(([task, icon]) => ({
    name: texts.tasks[task],
    label: texts.taskOf(texts.tasks[task], nameOf(key)),
    icon,
    isDanger: task === 'revoke',
    onChoose: () => onTask(task),
  }));
  return (
    <tr>
      <th scope="row">
        <span class="key-name">
          <span class={`id${key.name === null ? ' quiet' : ''}`}>
            {key.name === null ? texts.noName : visible(key.name)}
          </span>
          <span class="mono small quiet">…{key.lastFour}</span>
          {key.isCurrent && <span class="badge good">{texts.thisSession}</span>}
        </span>
      </th>
      <td class="card-start nowrap">
        <Scopes of={key.scopes} />
      </td>
      <td class="no-card key-limit">
        <LimitCell apiKey={key} />
      </td>
      <td class="nowrap" data-label={key.lastUsedAt === null ? undefined : texts.lastUse}>
        <LastUse apiKey={key} />
      </td>
      <td class="nowrap no-card">
        <Ends at={key.expiresAt} />
      </td>
      <td class="at-end">
        <Menu label={house.actionsOf(nameOf(key))} items={items} />
      </td>
    </tr>
  );
}

/** Number of scopes named in a row. The others are on hover and in the details. */
const SHOWN_SCOPES = 2;

function Scopes({ of: scopes }: { of: Key['scopes'] }) {
  if (scopes === null) return texts.everything;
  if (scopes.length === 1 && scopes[0] === 'READ') return texts.readOnly;
  const names = scopes.map((scope) => texts.scopes[scope]);
  const more = names.length - SHOWN_SCOPES;
  return (
    <span title={names.join(', ')}>
      {names.slice(0, SHOWN_SCOPES).join(', ')}
      {more > 0 && <span class="quiet"> +{more}</span>}
    </span>
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
      <Ago at={secondsOf(at)} />{' '}
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
      {lastUsedAt === null ? <span class="quiet">{texts.neverUsed}</span> : <Ago at={secondsOf(lastUsedAt)} />}{' '}
      {isUnused && (
        <span class="badge warn" title={texts.unusedHint}>
          {texts.unused}
        </span>
      )}
    </>
  );
}

function LimitCell({ apiKey: { monthlyLimit, monthSpend, limitReachedAt } }: { apiKey: Key }) {
  if (monthlyLimit === null) return <span class="quiet">{texts.noLimit}</span>;
  return (
    <span class="nowrap" title={texts.thisMonth}>
      {texts.spentOf(<Amount of={micro(monthSpend ?? 0)} />, <Amount of={micro(monthlyLimit)} unit="USD" />)}{' '}
      {limitReachedAt !== null && secondsOf(limitReachedAt) <= serverNow.value && (
        <span class="badge bad">{texts.reached}</span>
      )}
    </span>
  );
}

interface OpenProps {
  task: Task | undefined;
  /** The key, unless it was revoked in the meantime. */
  apiKey: Key | undefined;
  onChanged(): void;
  onClose(): void;
}

/** The dialog of a key's action. */
function Open({ task, apiKey, onChanged, onClose }: OpenProps) {
  if (task === undefined || apiKey === undefined) return null;
  if (task === 'details') return <Details apiKey={apiKey} onClose={onClose} />;
  if (task === 'revoke') return <Revoke apiKey={apiKey} onChanged={onChanged} onClose={onClose} />;
  return (
    <LimitDialog
      title={texts.limitOf(nameOf(apiKey))}
      hint={texts.limitHint}
      label={texts.maySpend}
      limit={apiKey.monthlyLimit}
      set={(amount) => send(SetApiKeyLimit, { id: apiKey.id, monthlyLimit: amount })}
      onChanged={onChanged}
      onClose={onClose}
    />
  );
}

/** Shows a key's details. */
function Details({ apiKey: key, onClose }: { apiKey: Key; onClose(): void }) {
  return (
    <Dialog title={nameOf(key)} isNarrow onClose={onClose}>
      <div class="dialog-body stack">
        <Facts
          of={[
            [texts.key, <span class="mono">{`${key.prefix}…${key.lastFour}`}</span>],
            [texts.createdAt, <LocalTime at={secondsOf(key.createdAt)} />],
            [texts.lastUse, <LastUse apiKey={key} />],
            [texts.ends, <Ends at={key.expiresAt} />],
            [texts.may, key.scopes?.map((scope) => texts.scopes[scope]).join(', ') ?? texts.everything],
            [texts.networks, key.networks === null ? texts.anyNetwork : <code>{key.networks.join(', ')}</code>],
            [texts.limit, <LimitCell apiKey={key} />],
          ]}
        />
        <p>
          <a href={`/activity?key=${encodeURIComponent(key.id)}`}>{texts.activity}</a>
        </p>
      </div>
    </Dialog>
  );
}

/** A dialog that revokes a key. Revoking the session's own key ends the session. */
function Revoke({ apiKey, onChanged, onClose }: { apiKey: Key; onChanged(): void; onClose(): void }) {
  const revoke = async () => {
    await send(RevokeApiKey, { id: apiKey.id });
    if (apiKey.isCurrent) sessionIsOver();
  };
  return (
    <EditDialog
      title={texts.revokeQuestion(nameOf(apiKey))}
      submitLabel={texts.revoke}
      isDanger
      change={revoke}
      onTried={onChanged}
      onClose={onClose}
    >
      <p>{texts.revokeHint}</p>
      {apiKey.isCurrent && <p class="notice warn">{texts.revokeCurrent}</p>}
    </EditDialog>
  );
}
