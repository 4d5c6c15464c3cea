import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { SshKeys as SshKeysDocument } from '../graph/documents.js';
import { Fold } from '../parts/fold.js';
import { accountChanges } from '../state/account.js';
import { useRead } from '../state/read.js';
import { session } from '../state/session.js';
import { texts } from '../texts/en/deploy.js';
import { SshKeys } from './ssh-keys.js';

/** Shows how many keys will have access. If the account has none, one can be added here. */
export function SshKeyFold() {
  const isIn = session.value === 'in';
  const keys = useRead(SshKeysDocument, isIn ? {} : null, accountChanges).data.value?.sshKeys ?? null;
  // After the first key is added, the form stays as a confirmation.
  const hadNone = useSignal(false);
  useEffect(() => {
    if (keys?.length === 0) hadNone.value = true;
  }, [keys]);
  const summary = isIn ? keys !== null && texts.sshCount(keys.length) : texts.sshSignedOut;
  return (
    <Fold title={texts.sshStep} summary={summary}>
      {isIn && (hadNone.value || keys?.length === 0) ? (
        <SshKeys />
      ) : (
        <p>{isIn ? <a href="/keys">{texts.sshManage}</a> : texts.sshWhy}</p>
      )}
    </Fold>
  );
}
