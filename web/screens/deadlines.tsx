import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { secondsOf } from '../figures/time.js';
import { SetDeadlines, SetStopWhenIdle } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { Failure } from '../parts/notice.js';
import { Time } from '../parts/time.js';
import { idleMinutes } from '../state/deploy-form.js';
import { say } from '../state/toasts.js';
import { texts } from '../texts/en/deadlines.js';

export interface DeadlineTexts {
  stopAt: string;
  destroyAt: string;
}

/** Fields for the times at which an instance ends automatically. They keep the text as typed for a deploy. */
export function DeadlineFields({ value, onType }: { value: DeadlineTexts; onType(texts: DeadlineTexts): void }) {
  return (
    <div class="two">
      {(['stopAt', 'destroyAt'] as const).map((name) => (
        <label class="field" key={name}>
          <span>{texts.names[name]}</span>
          <input
            name={name}
            maxLength={40}
            autocomplete="off"
            spellcheck={false}
            placeholder={texts.hint}
            value={value[name]}
            onInput={({ currentTarget }) => onType({ ...value, [name]: currentTarget.value.trim() })}
          />
        </label>
      ))}
    </div>
  );
}

/** Field for the number of idle minutes after which an instance stops. It keeps the text as typed. */
export function IdleField({ value, onType }: { value: string; onType(text: string): void }) {
  return (
    <label class="field">
      <span>{texts.idle}</span>
      <input
        type="number"
        name="stopWhenIdle"
        min="5"
        max="1440"
        placeholder={texts.idleHint}
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
  /** Number of idle minutes, or null if it is not set. */
  stopWhenIdle: number | null;
  onChanged(): void;
}

/** Shows, changes and removes the times at which an instance ends automatically. */
export function Deadlines({ id, stopAt, destroyAt, stopWhenIdle, onChanged }: Props) {
  const typed = useSignal<DeadlineTexts>({ stopAt: '', destroyAt: '' });
  const idle = useSignal('');
  const error = useSignal<unknown>(null);
  const sayRemoved = (text: string, back: () => Promise<unknown>) =>
    say(text, { undo: { run: () => back().finally(onChanged), done: texts.restored } });
  const setIdle = async (minutes: number | null) => {
    try {
      await send(SetStopWhenIdle, { id, minutes });
      idle.value = '';
      error.value = null;
      onChanged();
      if (minutes === null) sayRemoved(texts.noLongerIdle, () => send(SetStopWhenIdle, { id, minutes: stopWhenIdle }));
    } catch (fault) {
      error.value = fault;
    }
  };
  const set = async (changes: { stopAt?: string | null; destroyAt?: string | null }) => {
    try {
      await send(SetDeadlines, { id, ...changes });
      typed.value = { stopAt: '', destroyAt: '' };
      error.value = null;
      onChanged();
      if (changes.stopAt === null) sayRemoved(texts.noLongerStops, () => send(SetDeadlines, { id, stopAt }));
      if (changes.destroyAt === null) sayRemoved(texts.noLongerDestroyed, () => send(SetDeadlines, { id, destroyAt }));
    } catch (fault) {
      error.value = fault;
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const entered = Object.entries(typed.value).filter(([, text]) => text !== '');
    if (entered.length > 0) void set(Object.fromEntries(entered));
    const minutes = idleMinutes(idle.value);
    if (minutes !== null) void setIdle(minutes);
  };
  const shown = (what: (at: ComponentChildren) => ComponentChildren, at: string | null, name: 'stopAt' | 'destroyAt') =>
    at !== null && (
      <p class="row between">
        <span>{what(<Time at={secondsOf(at)} />)}</span>
        <button type="button" class="plain" onClick={() => void set({ [name]: null })}>
          {name === 'stopAt' ? texts.doNotStop : texts.doNotDestroy}
        </button>
      </p>
    );
  return (
    <section class="panel padded stack-tight" aria-labelledby="deadlines">
      <h2 id="deadlines">{texts.title}</h2>
      {shown(texts.stops, stopAt, 'stopAt')}
      {shown(texts.isDestroyed, destroyAt, 'destroyAt')}
      {stopWhenIdle !== null && (
        <p class="row between">
          <span>{texts.stopsIdle(stopWhenIdle)}</span>
          <button type="button" class="plain" onClick={() => void setIdle(null)}>
            {texts.doNotStopIdle}
          </button>
        </p>
      )}
      {stopAt === null && destroyAt === null && stopWhenIdle === null && <p class="quiet">{texts.never}</p>}
      <form class="stack-tight" onSubmit={submit}>
        <DeadlineFields
          value={typed.value}
          onType={(value) => {
            typed.value = value;
          }}
        />
        <IdleField
          value={idle.value}
          onType={(text) => {
            idle.value = text;
          }}
        />
        <div>
          <button type="submit">{texts.set}</button>
        </div>
      </form>
      <Failure error={error.value} />
    </section>
  );
}
