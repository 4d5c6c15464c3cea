import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { type ApiKeys, Passkeys as PasskeysDocument, RevokePasskey } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Ago } from '../parts/ago.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { accountChanges } from '../state/account.js';
import { createPasskey, supportsPasskeys } from '../state/passkeys.js';
import { useRead } from '../state/read.js';
import { sessionIsOver } from '../state/session.js';
import { say } from '../state/toasts.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/passkeys.js';

type Passkey = NonNullable<ResultOf<typeof PasskeysDocument>['passkeys']>[number];
type Key = NonNullable<ResultOf<typeof ApiKeys>['apiKeys']>[number];

/** Lists the passkeys that can sign in to this account. `apiKeys` are empty until known. */
export function Passkeys({ apiKeys }: { apiKeys: readonly Key[] }) {
  const { data, error, again } = useRead(PasskeysDocument, {}, accountChanges);
  const isAdding = useSignal(false);
  const revoking = useSignal<Passkey | null>(null);
  const passkeys = data.value?.passkeys ?? null;
  const keys = new Map(apiKeys.map((key) => [key.id, nameOf(key)]));
  const current = apiKeys.find(({ isCurrent }) => isCurrent);
  const canAdd = supportsPasskeys && current !== undefined && passkeys?.every(({ isCurrent }) => !isCurrent);
  // Where the browser can't create any, existing ones can still be revoked.
  if (!supportsPasskeys && (passkeys === null || passkeys.length === 0)) return null;
  return (
    <section class="panel" aria-busy={passkeys === null && error.value === null} aria-labelledby="passkeys">
      <div class="panel-head">
        <div>
          <h2 id="passkeys">{texts.title}</h2>
          <p class="small quiet">{texts.hint}</p>
        </div>
        {canAdd && (
          <button
            type="button"
            onClick={() => {
              isAdding.value = true;
            }}
          >
            <Icon name="plus" />
            {texts.add}
          </button>
        )}
      </div>
      <Failure error={error.value} />
      {passkeys?.length === 0 && (
        <Empty icon="fingerprint-pattern" title={texts.none}>
          {texts.noneHint}
        </Empty>
      )}
      {passkeys !== null && passkeys.length > 0 && (
        <Table
          isCards
          class="listing labelled"
          columns={[
            [texts.name, undefined, 'key-subject'],
            [texts.key],
            [texts.lastUse, undefined, 'key-time'],
            [texts.created, undefined, 'key-time'],
            [texts.actions, 'unseen', 'at-end'],
          ]}
        >
          {passkeys.map((passkey) => (
            <Row
              key={passkey.id}
              passkey={passkey}
              apiKey={keys.get(passkey.keyId) ?? passkey.keyId}
              onRevoke={() => {
                revoking.value = passkey;
              }}
            />
          ))}
        </Table>
      )}
      {isAdding.value && current !== undefined && (
        <EditDialog
          title={texts.add}
          submitLabel={texts.create}
          change={async (typed) => {
            const name = String(typed.get('name')).trim();
            await createPasskey(name);
            say(texts.added(visible(name)));
          }}
          onTried={again}
          onClose={() => {
            isAdding.value = false;
          }}
        >
          <label class="field">
            <span>{texts.name}</span>
            <input name="name" required maxLength={60} placeholder={texts.nameExample} autocomplete="off" />
          </label>
          <p class="small quiet">{texts.addHint(nameOf(current))}</p>
        </EditDialog>
      )}
      {revoking.value !== null && (
        <Revoke
          passkey={revoking.value}
          onTried={again}
          onClose={() => {
            revoking.value = null;
          }}
        />
      )}
    </section>
  );
}

/** Returns a label for a key, because several may have no name. */
const nameOf = ({ name, lastFour }: Key): string => (name === null ? `…${lastFour}` : visible(name));

interface RowProps {
  passkey: Passkey;
  /** Label of the API key that the passkey belongs to. */
  apiKey: string;
  onRevoke(): void;
}

function Row({ passkey: { name, host, isCurrent, createdAt, lastUsedAt }, apiKey, onRevoke }: RowProps) {
  const actions = house.actionsOf(visible(name));
  return (
    <tr>
      <th scope="row">
        <span class="key-name">
          <span class="id">{visible(name)}</span>
          {isCurrent && <span class="badge good">{texts.thisSession}</span>}
          {host !== location.hostname && <span class="small quiet">{texts.onlyAt(host)}</span>}
        </span>
      </th>
      <td class="card-start">{apiKey}</td>
      <td class="nowrap" data-label={lastUsedAt === null ? undefined : texts.lastUse}>
        {lastUsedAt === null ? <span class="quiet">{texts.neverUsed}</span> : <Ago at={secondsOf(lastUsedAt)} />}
      </td>
      <td class="nowrap no-card">
        <Ago at={secondsOf(createdAt)} />
      </td>
      <td class="at-end">
        <Menu label={actions} items={[{ name: texts.revoke, icon: 'trash-2', isDanger: true, onChoose: onRevoke }]} />
      </td>
    </tr>
  );
}

interface RevokeProps {
  passkey: Passkey;
  onTried(): void;
  onClose(): void;
}

function Revoke({ passkey: { id, name, isCurrent }, onTried, onClose }: RevokeProps) {
  const revoke = async () => {
    await send(RevokePasskey, { id });
    if (isCurrent) sessionIsOver();
    else say(texts.revoked(visible(name)));
  };
  return (
    <EditDialog
      title={texts.revokeQuestion(visible(name))}
      submitLabel={texts.revoke}
      isDanger
      change={revoke}
      onTried={onTried}
      onClose={onClose}
    >
      <p>{texts.revokeHint}</p>
      {isCurrent && <p class="notice warn">{texts.revokeCurrent}</p>}
    </EditDialog>
  );
}
