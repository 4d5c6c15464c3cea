import type { ComponentChildren } from 'preact';
import { query, setQuery } from '../state/location.js';
import { texts } from '../texts/en/house.js';

/** A labelled field for a requirement. Every choice is reflected in the URL immediately. */
export function Field({ label, isWide = false, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class={`field${isWide ? ' wide-field' : ''}`}>
      <span>{label}</span>
      {children}
    </label>
  );
}

interface FieldProps {
  label: string;
  /** Whether the field is wide, for long names. */
  isWide?: boolean;
  children: ComponentChildren;
}

export function Select({ name, options }: { name: string; options: readonly (readonly [string, string])[] }) {
  const value = query.value.get(name) ?? '';
  return (
    <select name={name} value={value} onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}>
      <option value="">{texts.any}</option>
      {value !== '' && !options.some(([option]) => option === value) && <option value={value}>{value}</option>}
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  );
}

export function NumberField({ name, label, ...rest }: { name: string; label: string; step?: string; max?: string }) {
  return (
    <Field label={label}>
      <input
        type="number"
        name={name}
        min="0"
        inputMode="decimal"
        placeholder={texts.any}
        {...rest}
        value={query.value.get(name) ?? ''}
        onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value }, { replace: true })}
      />
    </Field>
  );
}

export function DayField({ name, label }: { name: string; label: string }) {
  return (
    <Field label={label} isWide>
      <input
        type="date"
        name={name}
        min="1970-01-01"
        value={query.value.get(name) ?? ''}
        onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value }, { replace: true })}
      />
    </Field>
  );
}

/** A button that removes these parameters from the URL. It is hidden if the URL contains none of them. */
export function Clear({ names, children }: { names: readonly string[]; children: string }) {
  const present = names.filter((name) => query.value.has(name));
  return present.length === 0 ? null : (
    <div>
      <button
        type="button"
        class="plain"
        onClick={() => setQuery(Object.fromEntries(present.map((name) => [name, null])))}
      >
        {children}
      </button>
    </div>
  );
}
