import { Failure } from '../parts/notice.js';
import { signInWithPasskey, supportsPasskeys } from '../state/passkeys.js';
import { useWork } from '../state/work.js';
import { texts } from '../texts/en/passkeys.js';

/** The sign-in screen's second button. Browsers without passkeys don't get one. */
export function PasskeySignIn() {
  const { isBusy, error, run } = useWork();
  if (!supportsPasskeys) return null;
  return (
    <>
      <Failure error={error.value} />
      <div>
        <button type="button" aria-disabled={isBusy.value} onClick={() => void run(signInWithPasskey)}>
          {texts.signIn}
        </button>
      </div>
    </>
  );
}
