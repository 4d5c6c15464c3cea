import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { SshKeys as SshKeysDocument } from '../graph/documents.js';
import { accountChanges } from '../state/account.js';
import { useRead } from '../state/read.js';
import { session } from '../state/session.js';
import { texts } from '../texts/en/deploy.js';
import { SshKeys } from './ssh-keys.js';

/** Shows how many keys will have access. If the account has none, one can be added here. */
export function SshKeyStep() {
  const isIn = session.value === 'in';
  const keys = useRead(SshKeysDocument, isIn ? {} : null, accountChanges).data.value?.sshKeys ?? null;
  // After the first key is added, the step stays as a confirmation.
  const hadNone = useSignal(false);
  useEffect(() => {
    if (keys?.length === 0) hadNone.value = true;
  }, [keys]);
  if (isIn && (hadNone.value || keys?.length === 0)) return <SshKeys />;
  return (
    <section class="panel padded stack-tight deploy-step" aria-label={texts.sshStep}>
      <h2>{texts.sshStep}</h2>
      {!isIn && <p class="small quiet">{texts.sshSignedOut}</p>}
      {keys !== null && (
        <p class="row">
          {texts.sshCount(keys.length)} <a href="/keys">{texts.sshManage}</a>
        </p>
      )}
    </section>
  );
}
