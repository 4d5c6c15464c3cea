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
