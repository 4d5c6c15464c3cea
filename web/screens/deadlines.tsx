import { useSignal } from '@preact/signals';
import { secondsOf } from '../figures/time.js';
import { SetDeadlines, SetStopWhenIdle } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Failure } from '../parts/notice.js';
import { Time } from '../parts/time.js';
import { idleMinutes } from '../state/deploy-form.js';
import { say } from '../state/toasts.js';

export interface DeadlineTexts {
  stopAt: string;
  destroyAt: string;
}

const HINT = '8h, 2d12h or 2026-11-23T18:00:00Z';
const NAMES = { stopAt: 'Stop it by itself after or at', destroyAt: 'Destroy it by itself after or at' } as const;

/** When an instance ends by itself, as it is typed at its deploy. */
export function DeadlineFields({ value, onType }: { value: DeadlineTexts; onType(texts: DeadlineTexts): void }) {
  return (
    <div class="two">
      {(['stopAt', 'destroyAt'] as const).map((name) => (
        <label class="field" key={name}>
          <span>{NAMES[name]}</span>
          <input
            name={name}
            maxLength={40}
            autocomplete="off"
            spellcheck={false}
            placeholder={HINT}
            value={value[name]}
            onInput={({ currentTarget }) => onType({ ...value, [name]: currentTarget.value.trim() })}
          />
        </label>
      ))}
    </div>
  );
}

/** After how many idle minutes an instance stops, as it is typed. */
export function IdleField({ value, onType }: { value: string; onType(text: string): void }) {
  return (
    <label class="field">
      <span>Stop it when nothing has happened on it for (minutes)</span>
      <input
        type="number"
        name="stopWhenIdle"
        min="5"
        max="1440"
        placeholder="5 to 1440"
        value={value}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
      />
    </label>
  );
}

interface Props {
  id: string;
  stopAt: string | null;
  destroyAt: string | null;
  /** Minutes. */
  stopWhenIdle: number | null;
  onChanged(): void;
}

/** When an instance ends by itself: shown, changed and taken away. */
export function Deadlines({ id, stopAt, destroyAt, stopWhenIdle, onChanged }: Props) {
  const texts = useSignal<DeadlineTexts>({ stopAt: '', destroyAt: '' });
  const idle = useSignal('');
  const error = useSignal<unknown>(null);
  const sayGone = (text: string, back: () => Promise<unknown>) =>
    say(text, { undo: { run: () => back().finally(onChanged), done: 'It ends by itself as before.' } });
  const setIdle = async (minutes: number | null) => {
    try {
      await send(SetStopWhenIdle, { id, minutes });
      idle.value = '';
      error.value = null;
      onChanged();
      if (minutes === null)
        sayGone('It no longer stops when nothing happens on it.', () =>
          send(SetStopWhenIdle, { id, minutes: stopWhenIdle }),
        );
    } catch (fault) {
      error.value = fault;
    }
  };
  const set = async (changes: { stopAt?: string | null; destroyAt?: string | null }) => {
    try {
      await send(SetDeadlines, { id, ...changes });
      texts.value = { stopAt: '', destroyAt: '' };
      error.value = null;
      onChanged();
      if (changes.stopAt === null)
        sayGone('It no longer stops by itself then.', () => send(SetDeadlines, { id, stopAt }));
      if (changes.destroyAt === null)
        sayGone('It is no longer destroyed by itself.', () => send(SetDeadlines, { id, destroyAt }));
    } catch (fault) {
      error.value = fault;
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const given = Object.entries(texts.value).filter(([, text]) => text !== '');
    if (given.length > 0) void set(Object.fromEntries(given));
    const minutes = idleMinutes(idle.value);
    if (minutes !== null) void setIdle(minutes);
  };
  const shown = (what: string, at: string | null, name: 'stopAt' | 'destroyAt') =>
    at !== null && (
      <p class="row between">
        <span>
          {what} <Time at={secondsOf(at)} />
        </span>
        <button type="button" class="plain" onClick={() => void set({ [name]: null })}>
          {name === 'stopAt' ? 'Do not stop it' : 'Do not destroy it'}
        </button>
      </p>
    );
  return (
    <section class="panel padded stack-tight" aria-labelledby="deadlines">
      <h2 id="deadlines">When it ends by itself</h2>
      {shown('It stops', stopAt, 'stopAt')}
      {shown('It is destroyed, with its disk,', destroyAt, 'destroyAt')}
      {stopWhenIdle !== null && (
        <p class="row between">
          <span>It stops after {stopWhenIdle} minutes in which no GPU is busy and nobody is connected</span>
          <button type="button" class="plain" onClick={() => void setIdle(null)}>
            Do not stop it then
          </button>
        </p>
      )}
      {stopAt === null && destroyAt === null && stopWhenIdle === null && (
        <p class="quiet">Never, while its credit lasts.</p>
      )}
      <form class="stack-tight" onSubmit={submit}>
        <DeadlineFields
          value={texts.value}
          onType={(value) => {
            texts.value = value;
          }}
        />
        <IdleField
          value={idle.value}
          onType={(text) => {
            idle.value = text;
          }}
        />
        <div>
          <button type="submit">Set</button>
        </div>
      </form>
      <Failure error={error.value} />
    </section>
  );
}
