import { signal, useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useRef } from 'preact/hooks';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { CreateSecret, DeleteSecret, Secrets as SecretsDocument } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Ago } from '../parts/ago.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { useRead } from '../state/read.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/secrets.js';

type Secret = NonNullable<ResultOf<typeof SecretsDocument>['secrets']>[number];

const EXAMPLES = { name: 'hf', registry: 'ghcr.io' };

/** Counts the changes made on this page. */
const changes = signal(0);
const readAgain = () => {
  changes.value += 1;
};

/** Reads the account's secrets, sorted by name. They are null until known. */
export function useSecrets(isSignedIn = true) {
  const { data, error } = useRead(SecretsDocument, isSignedIn ? {} : null, changes);
  return { secrets: data.value?.secrets ?? null, error: error.value };
}

/**
 * Shows the secrets that launches can refer to. They are created and deleted here, but their values are never shown.
 */
export function Secrets() {
  const { secrets, error } = useSecrets();
  const isCreating = useSignal(false);
  const deleting = useSignal<Secret | null>(null);
  return (
    <section class="panel" aria-busy={secrets === null && error === null} aria-labelledby="secrets">
      <div class="panel-head">
        <div>
          <h2 id="secrets">{texts.title}</h2>
          <p class="small quiet">{texts.hint}</p>
        </div>
        <button
          type="button"
          onClick={() => {
            isCreating.value = true;
          }}
        >
          <Icon name="plus" />
          {texts.create}
        </button>
      </div>
      <Failure error={error} />
      {secrets !== null && secrets.length === 0 && (
        <Empty icon="shield-check" title={texts.none}>
          {texts.noneHint}
        </Empty>
      )}
      {secrets !== null && secrets.length > 0 && (
        <Table
          isCards
          class="listing labelled"
          columns={[
            [texts.name, undefined, 'key-subject'],
            [texts.for],
            [texts.created, undefined, 'key-time'],
            [texts.actions, 'unseen', 'at-end'],
          ]}
        >
          {secrets.map((secret) => (
            <tr key={secret.name}>
              <th scope="row" class="mono">
                {secret.name}
              </th>
              <td class="card-start">
                {secret.kind === 'VALUE'
                  ? texts.forValues
                  : texts.forImages(visible(secret.registry ?? ''), visible(secret.username ?? ''))}
              </td>
              <td class="nowrap" data-label={texts.created}>
                <Ago at={secondsOf(secret.createdAt)} />
              </td>
              <td class="at-end">
                <Menu
                  label={house.actionsOf(secret.name)}
                  items={[
                    {
                      name: texts.deleteTask,
                      label: texts.deleteOne(secret.name),
                      icon: 'trash-2',
                      isDanger: true,
                      onChoose: () => {
                        deleting.value = secret;
                      },
                    },
                  ]}
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {isCreating.value && (
        <NewSecret
          onClose={() => {
            isCreating.value = false;
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

/** A dialog that creates a secret. `onClose` receives the name of the new secret. */
export function NewSecret({ onClose }: { onClose(created: string | null): void }) {
  const isLogin = useSignal(false);
  const created = useRef<string | null>(null);
  const create = async (typed: FormData) => {
    const text = (name: string) => String(typed.get(name) ?? '');
    const login = isLogin.value ? { registry: text('registry').trim(), username: text('username').trim() } : {};
    // A value pasted from a page or terminal often includes a line break.
    const input = { name: text('secret-name').trim(), value: text('secret-value').replace(/\r?\n$/, ''), ...login };
    created.current = (await send(CreateSecret, { input })).createSecret?.name ?? null;
  };
  return (
    <EditDialog
      title={texts.create}
      submitLabel={texts.store}
      change={create}
      onTried={readAgain}
      onClose={() => onClose(created.current)}
    >
      <label class="field">
        <span>{texts.name}</span>
        <input
          name="secret-name"
          required
          maxLength={63}
          autocomplete="off"
          spellcheck={false}
          placeholder={EXAMPLES.name}
        />
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={isLogin.value}
          onChange={({ currentTarget }) => {
            isLogin.value = currentTarget.checked;
          }}
        />
        {texts.isLogin}
      </label>
      {isLogin.value && (
        <div class="two">
          <label class="field">
            <span>{texts.registry}</span>
            <input name="registry" required autocomplete="off" spellcheck={false} placeholder={EXAMPLES.registry} />
          </label>
          <label class="field">
            <span>{texts.user}</span>
            <input name="username" required autocomplete="off" spellcheck={false} />
          </label>
        </div>
      )}
      <label class="field">
        <span>{isLogin.value ? texts.password : texts.value}</span>
        <textarea name="secret-value" class="mono veiled" rows={3} required autocomplete="off" spellcheck={false} />
      </label>
      <p class="small quiet">{texts.sentOnce}</p>
    </EditDialog>
  );
}

/** A dialog that deletes a secret. */
function DeleteIt({ secret: { name }, onClose }: { secret: Secret; onClose(): void }) {
  return (
    <EditDialog
      title={texts.deleteQuestion(name)}
      submitLabel={texts.delete}
      isDanger
      change={() => send(DeleteSecret, { name })}
      onTried={readAgain}
      onClose={onClose}
    >
      <p>{texts.deleteHint}</p>
    </EditDialog>
  );
}
