import type { ComponentChildren } from 'preact';
import { visible } from '../figures/visible.js';
import { query, setQuery } from '../state/location.js';
import { texts } from '../texts/en/house.js';

/** A labelled field for a requirement. Every choice is reflected in the URL immediately. */
export function Field({ label, isWide = false, isInline = false, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class={`field${isWide ? ' wide-field' : ''}${isInline ? ' inline-field' : ''}`}>
      <span>{label}</span>
      {children}
    </label>
  );
}

interface FieldProps {
  label: string;
  /** Whether the field is wide, for long names. */
  isWide?: boolean;
  /** Whether the label is inside the field's frame instead of above it. */
  isInline?: boolean;
  children: ComponentChildren;
}

/** The options of a choice: values and the texts that describe them. */
export type Options = readonly (readonly [value: string, text: string])[];

interface SelectProps {
  name: string;
  options: Options;
  /** The accessible name of a choice that has no visible label. */
  label?: string;
  /** The first option, which filters nothing. Without a visible label, it names what the choice filters. */
  any?: string;
  class?: string;
}

export function Select({ name, options, label, any = texts.any, class: className = '' }: SelectProps) {
  const value = query.value.get(name) ?? '';
  return (
    <select
      name={name}
      aria-label={label}
      class={`${className} ${label !== undefined && value !== '' ? 'set' : ''}`}
      value={value}
      onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}
    >
      <option value="">{any}</option>
      {value !== '' && !options.some(([option]) => option === value) && <option value={value}>{visible(value)}</option>}
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  );
}

interface NumberFieldProps {
  name: string;
  label: string;
  step?: string;
  max?: string;
  isInline?: boolean;
}

export function NumberField({ name, label, isInline, ...rest }: NumberFieldProps) {
  return (
    <Field label={label} isInline={isInline}>
      <input
        type="number"
        name={name}
        min="0"
        inputMode="decimal"
        placeholder={isInline ? '–' : texts.any}
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
