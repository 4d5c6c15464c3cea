import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Refusal } from '../graph/send.js';
import { Copy } from '../parts/copy.js';
import { Icon } from '../parts/icon.js';
import { Failure } from '../parts/notice.js';
import { OperatorContact } from '../parts/operator-contact.js';
import { saveFile } from '../state/save-file.js';
import { createAccount, endedBecause, operatorContact, signIn, signupOpen } from '../state/session.js';
import { useTitle } from '../state/title.js';
import { useWork } from '../state/work.js';
import { texts as market } from '../texts/en/first-sight.js';
import { texts as house } from '../texts/en/house.js';
import { screens } from '../texts/en/screens.js';
import { texts } from '../texts/en/sign-in.js';
import { FreeFigures, useFreeNow } from './free-now.js';
import { WorldMap } from './map.js';
import { PasskeySignIn } from './passkey-sign-in.js';

/** Beginning of every key, in all languages. */
const KEY_BEGINS = 'gpu_live_…';
/** Finds the key in a pasted line, such as `GPU_API_KEY=gpu_live_…`. */
const KEY = /gpu_live_\w+/;

/**
 * Signs the user in with an API key, which only has to be pasted once. Creates an account instead if the operator
 * allows that.
 */
export function SignIn({ reason }: { reason?: string }) {
  useTitle(screens['/sign-in']);
  const created = useSignal<string | null>(null);
  const work = useWork();
  return (
    <div class="panel sign-in">
      <div class="sign-in-form">
        {endedBecause.value !== null && <p class="notice warn">{endedBecause.value}</p>}
        {created.value !== null ? (
          <KeepKey secret={created.value} />
        ) : (
          <>
            <KeyForm reason={reason} work={work} />
            <div class="sign-in-new stack-tight">
              <p>
                <strong>{texts.newHere}</strong>{' '}
                <span class="quiet">{signupOpen.value ? texts.newAccount : texts.lookFirst}</span>
              </p>
              {signupOpen.value ? (
                <button
                  type="button"
                  aria-disabled={work.isBusy.value}
                  onClick={() =>
                    work.run(async () => {
                      created.value = await createAccount();
                    })
                  }
                >
                  {texts.create}
                </button>
              ) : (
                <a class="button" href="/machines">
                  {house.seeMachines}
                </a>
              )}
            </div>
          </>
        )}
        <p class="small quiet sign-in-more">
          <a href="/verify">{texts.verify}</a>
        </p>
      </div>
      <Offer />
    </div>
  );
}

/** Shows what is free now, next to the form or below it. A narrow window doesn't load the map. */
function Offer() {
  const free = useFreeNow();
  const isWide = matchMedia('(min-width: 64rem)').matches;
  return (
    <aside class="sign-in-offer" aria-label={market.freeNow}>
      <p class="sign-in-claim">{market.heading}</p>
      {isWide && <WorldMap free={free.regions} isPicture />}
      <FreeFigures of={free} />
    </aside>
  );
}

function KeyForm({ reason, work }: { reason: string | undefined; work: ReturnType<typeof useWork> }) {
  const { isBusy, error, run } = work;
  const key = useRef<HTMLInputElement>(null);
  const isShown = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const typed = key.current;
    if (isBusy.value || typed === null) return;
    const [found] = KEY.exec(typed.value) ?? [typed.value.trim()];
    if (!(await run(() => signIn(found)))) key.current?.select();
  };
  // There was no session, so the message about an ended session would be wrong.
  const isRefused = error.value instanceof Refusal && error.value.code === 'unauthorized';
  return (
    <form class="stack" onSubmit={submit}>
      <div>
        <h1 tabIndex={-1}>{screens['/sign-in']}</h1>
        {reason !== undefined && <p class="quiet">{reason}</p>}
      </div>
      <div class="stack-tight">
        <label class="field">
          <span>{texts.key}</span>
          <input
            ref={key}
            class="key-field"
            // The library's types don't allow a field's type to change.
            type={(isShown.value ? 'text' : 'password') as 'password'}
            name="key"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            required
            placeholder={KEY_BEGINS}
            aria-invalid={isRefused}
            aria-describedby="key-use"
          />
        </label>
        <button
          type="button"
          class="ghost key-show"
          aria-label={texts.show}
          title={isShown.value ? texts.hide : texts.show}
          aria-pressed={isShown.value}
          onClick={() => {
            isShown.value = !isShown.value;
          }}
        >
          <Icon name={isShown.value ? 'eye-off' : 'eye'} />
        </button>
        {isRefused ? (
          <p class="small bad" role="alert">
            {texts.notAccepted}
          </p>
        ) : (
          <Failure error={error.value} />
        )}
        <p id="key-use" class="small quiet">
          {signupOpen.value ? texts.keyFromSignUp : texts.keyFromOperator}{' '}
          {texts.lost(operatorContact.value && <OperatorContact account={undefined} />)}
        </p>
      </div>
      {/* The ways to sign in, the first of which is the primary one. */}
      <div class="stack-tight">
        <button type="submit" class="primary" aria-disabled={isBusy.value}>
          {isBusy.value ? texts.signingIn : texts.signIn}
        </button>
        <PasskeySignIn />
      </div>
    </form>
  );
}

/** Shows a new account's key until the user has saved it. */
function KeepKey({ secret }: { secret: string }) {
  const isKept = useSignal(false);
  const { isBusy, error, run } = useWork();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <div class="stack">
      <div>
        <h1 ref={title} tabIndex={-1}>
          {texts.saveKey}
        </h1>
        <p class="quiet">{texts.onlyOnce}</p>
      </div>
      <div class="stack-tight">
        <code class="secret">{secret}</code>
        <div class="row">
          <Copy text={secret} label={texts.copyKey} />
          <button
            type="button"
            onClick={() =>
              saveFile({
                name: 'gpu-key.txt',
                type: 'text/plain',
                content: `${location.origin}\nGPU_API_KEY=${secret}\n`,
              })
            }
          >
            <Icon name="download" />
            {texts.download}
          </button>
        </div>
      </div>
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
      <Failure error={error.value} />
      <button
        type="button"
        class="primary"
        disabled={!isKept.value}
        aria-disabled={isBusy.value}
        onClick={() => run(() => signIn(secret))}
      >
        {texts.begin}
      </button>
    </div>
  );
}
