import type { ResultOf } from 'gql.tada';
import { secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { AddSshKey, RemoveSshKey, SshKeys as SshKeysDocument } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Empty, Failure } from '../parts/notice.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { accountChanges } from '../state/account.js';
import { useRead } from '../state/read.js';
import { say } from '../state/toasts.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/ssh-keys.js';

type SshKey = NonNullable<ResultOf<typeof SshKeysDocument>['sshKeys']>[number];

/** Lists the public keys that give access to the account's instances. */
export function SshKeys() {
  const { data, error, again } = useRead(SshKeysDocument, {}, accountChanges);
  const { isBusy, error: fault, run: change } = useWork(again);
  const add = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const publicKey = String(new FormData(form).get('public-key')).trim();
    if (await change(() => send(AddSshKey, { publicKey }))) form.reset();
  };
  const remove = async ({ id, comment, fingerprint, publicKey, instanceId }: SshKey) => {
    if (!(await change(() => send(RemoveSshKey, { id })))) return;
    const run = () => send(AddSshKey, { publicKey, instanceId }).finally(again);
    say(texts.removed(visible(comment) || fingerprint), { undo: { run, done: texts.restored } });
  };
  const keys = data.value?.sshKeys ?? null;
  return (
    <section class="panel" aria-labelledby="ssh-keys">
      <div class="panel-head">
        <h2 id="ssh-keys">{texts.title}</h2>
        <p class="small quiet">{texts.hint}</p>
      </div>
      <form class="padded stack-tight" onSubmit={add}>
        <label class="field">
          <span>{texts.publicKey}</span>
          <textarea name="public-key" rows={2} required spellcheck={false} class="mono" placeholder={texts.example} />
        </label>
        <div>
          <button type="submit" aria-disabled={isBusy.value}>
            {texts.add}
          </button>
        </div>
        <Failure error={fault.value ?? error.value} />
      </form>
      {keys !== null && keys.length === 0 && (
        <Empty icon="terminal" title={texts.none}>
          <p>{texts.noneHint}</p>
        </Empty>
      )}
      {keys !== null && keys.length > 0 && (
        <Table isCards columns={[[texts.comment], [texts.fingerprint], [texts.added], [texts.remove, 'unseen']]}>
          {keys.map((key) => {
            const { id, type, fingerprint, comment, createdAt } = key;
            return (
              <tr key={id}>
                <th scope="row" class="wide">
                  {visible(comment) || <span class="quiet">{texts.noComment}</span>}
                </th>
                <td class="wide" data-label={texts.fingerprint}>
                  <span class="small quiet">{type}</span> <span class="mono">{fingerprint}</span>
                </td>
                <td class="wide" data-label={texts.added}>
                  <Time at={secondsOf(createdAt)} />
                </td>
                <td class="number wide">
                  <button
                    type="button"
                    class="danger"
                    aria-label={texts.removeKey(visible(comment) || fingerprint)}
                    onClick={() => void remove(key)}
                  >
                    {texts.remove}
                  </button>
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </section>
  );
}
