import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { Refusal } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Failure } from '../parts/notice.js';
import { createAccount, endedBecause, signIn, signupOpen } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { useWork } from '../state/work.js';
import { screens } from '../texts/en/screens.js';
import { texts } from '../texts/en/sign-in.js';
import { PasskeySignIn } from './passkey-sign-in.js';

/** How every key begins, which is the same in every language. */
const KEY_BEGINS = 'gpu_live_…';

/**
 * Signs the user in with an API key, which only has to be pasted once. Creates an account instead if the operator
 * allows that.
 */
export function SignIn({ reason }: { reason?: string }) {
  useTitle(screens['/sign-in']);
  const { isBusy, error, run } = useWork();
  const key = useRef<HTMLInputElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    const typed = key.current;
    if (isBusy.value || typed === null) return;
    if (!(await run(() => signIn(typed.value.trim())))) key.current?.select();
  };
  // There was no session, so the message about an ended session would be wrong.
  const isRefused = error.value instanceof Refusal && error.value.code === 'unauthorized';
  return (
    <div class="sign-in stack">
      {endedBecause.value !== null && <p class="notice warn">{endedBecause.value}</p>}
      <form class="panel padded stack" onSubmit={submit}>
        <h1 tabIndex={-1}>{screens['/sign-in']}</h1>
        {reason !== undefined && <p class="quiet">{reason}</p>}
        <label class="field">
          <span>{texts.key}</span>
          <input
            ref={key}
            type="password"
            name="key"
            autocomplete="off"
            spellcheck={false}
            required
            placeholder={KEY_BEGINS}
            aria-describedby="key-use"
          />
        </label>
        <p id="key-use" class="small quiet">
          {texts.keyUse}
        </p>
        {isRefused ? (
          <p class="notice bad" role="alert">
            {texts.notAccepted}
          </p>
        ) : (
          <Failure error={error.value} />
        )}
        <div>
          <button type="submit" class="primary" aria-disabled={isBusy.value}>
            {isBusy.value ? texts.signingIn : texts.signIn}
          </button>
        </div>
        <PasskeySignIn />
      </form>
      {signupOpen.value && <NewAccount />}
      <p class="small">
        <a href="/verify">{texts.verify}</a>
      </p>
    </div>
  );
}

function NewAccount() {
  const secret = useSignal<string | null>(null);
  const isKept = useSignal(false);
  const { isBusy, error, run } = useWork();
  const create = () =>
    run(async () => {
      secret.value = await createAccount();
    });
  const begin = async () => {
    try {
      await signIn(secret.value!);
      secret.value = null;
    } catch (fault) {
      error.value = fault;
    }
  };
  return (
    <section class="panel padded stack" aria-labelledby="new-account">
      <h2 id="new-account">{texts.newHere}</h2>
      <p>{texts.newAccount}</p>
      {secret.value === null ? (
        <div>
          <button type="button" onClick={create} aria-disabled={isBusy.value}>
            {texts.create}
          </button>
        </div>
      ) : (
        <div class="stack" role="status">
          <p>
            <strong>{texts.yourKey}</strong>
          </p>
          <code class="secret">{secret.value}</code>
          <Copy text={secret.value} label={texts.copyKey} />
          <label class="check">
            <input
              type="checkbox"
              checked={isKept.value}
              onChange={({ currentTarget }) => {
                isKept.value = currentTarget.checked;
              }}
            />
            {texts.isKept}
          </label>
          <div>
            <button type="button" class="primary" disabled={!isKept.value} onClick={begin}>
              {texts.begin}
            </button>
          </div>
        </div>
      )}
      <Failure error={error.value} />
    </section>
  );
}
