import { useSignal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { AddSshKey, RemoveSshKey, SshKeys as SshKeysDocument } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Ago } from '../parts/ago.js';
import { EditDialog } from '../parts/edit-dialog.js';
import { Icon } from '../parts/icon.js';
import { Menu } from '../parts/menu.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { accountChanges } from '../state/account.js';
import { useRead } from '../state/read.js';
import { say } from '../state/toasts.js';
import { useWork } from '../state/work.js';
import { texts as house } from '../texts/en/house.js';
import { texts } from '../texts/en/ssh-keys.js';

type SshKey = NonNullable<ResultOf<typeof SshKeysDocument>['sshKeys']>[number];

/** Lists the public keys that give access to the account's instances. */
export function SshKeys() {
  const { data, error, again } = useRead(SshKeysDocument, {}, accountChanges);
  const { error: fault, run: change } = useWork(again);
  const isAdding = useSignal(false);
  const remove = async ({ id, comment, fingerprint, publicKey, instanceId }: SshKey) => {
    if (!(await change(() => send(RemoveSshKey, { id })))) return;
    const run = () => send(AddSshKey, { publicKey, instanceId }).finally(again);
    say(texts.removed(visible(comment) || fingerprint), { undo: { run, done: texts.restored } });
  };
  const keys = data.value?.sshKeys ?? null;
  return (
    <section class="panel" aria-busy={keys === null && error.value === null} aria-labelledby="ssh-keys">
      <div class="panel-head">
        <div>
          <h2 id="ssh-keys">{texts.title}</h2>
          <p class="small quiet">{texts.hint}</p>
        </div>
        <button
          type="button"
          onClick={() => {
            isAdding.value = true;
          }}
        >
          <Icon name="plus" />
          {texts.add}
        </button>
      </div>
      <Failure error={fault.value ?? error.value} />
      {keys !== null && keys.length === 0 && (
        <Empty icon="terminal" title={texts.none}>
          {texts.noneHint}
        </Empty>
      )}
      {keys !== null && keys.length > 0 && (
        <Table
          isCards
          class="listing labelled"
          columns={[
            [texts.comment, undefined, 'key-subject'],
            [texts.fingerprint],
            [texts.added, undefined, 'key-time'],
            [texts.actions, 'unseen', 'at-end'],
          ]}
        >
          {keys.map((key) => (
            <Row key={key.id} sshKey={key} onRemove={() => void remove(key)} />
          ))}
        </Table>
      )}
      {isAdding.value && (
        <AddKey
          onTried={again}
          onClose={() => {
            isAdding.value = false;
          }}
        />
      )}
    </section>
  );
}

/** Number of characters at a fingerprint's ends that a narrow screen shows. The first ones name the algorithm. */
const START = 12;
const END = 4;

function Row({ sshKey: { type, fingerprint, comment, createdAt }, onRemove }: { sshKey: SshKey; onRemove(): void }) {
  const name = visible(comment) || fingerprint;
  return (
    <tr>
      <th scope="row">{visible(comment) || <span class="quiet">{texts.noComment}</span>}</th>
      <td class="card-start fingerprint" title={`${type} ${fingerprint}`}>
        <span class="fingerprint-whole mono">{fingerprint}</span>
        <span class="fingerprint-short mono">{`${fingerprint.slice(0, START)}…${fingerprint.slice(-END)}`}</span>
      </td>
      <td class="nowrap" data-label={texts.added}>
        <Ago at={secondsOf(createdAt)} />
      </td>
      <td class="at-end">
        <Menu
          label={house.actionsOf(name)}
          items={[
            { name: texts.remove, label: texts.removeKey(name), icon: 'trash-2', isDanger: true, onChoose: onRemove },
          ]}
        />
      </td>
    </tr>
  );
}

/** A dialog that adds a public key. */
function AddKey({ onTried, onClose }: { onTried(): void; onClose(): void }) {
  const add = (typed: FormData) => send(AddSshKey, { publicKey: String(typed.get('public-key')).trim() });
  return (
    <EditDialog title={texts.add} submitLabel={texts.store} change={add} onTried={onTried} onClose={onClose}>
      <p>{texts.noneHint}</p>
      <label class="field">
        <span>{texts.publicKey}</span>
        <textarea name="public-key" rows={4} required spellcheck={false} class="mono" placeholder={texts.example} />
      </label>
    </EditDialog>
  );
}
