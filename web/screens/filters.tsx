import type { ComponentChildren } from 'preact';
import { FILTER_NAMES, TIERS } from '../state/filters.js';
import { query, setQuery } from '../state/location.js';
import { regions, sheet } from '../state/market.js';

const MORE = ['price', 'vram', 'ram', 'disk', 'vcpus', 'reliability', 'nvlink', 'busy'];

/** What is looked for. Each change goes into the address at once. */
export function Filters() {
  const asked = FILTER_NAMES.filter((name) => query.value.has(name));
  return (
    <search aria-label="Machines">
      <form class="panel padded stack-tight" onSubmit={(event) => event.preventDefault()}>
        <div class="filters">
          <Field label="GPU model">
            <Select name="gpu" options={(sheet.value?.pricing.data ?? []).map(({ slug, name }) => [slug, name])} />
          </Field>
          <Field label="Region">
            <Select
              name="region"
              options={[...regions.value.values()].map(({ code, name, country }) => [code, `${name}, ${country}`])}
            />
          </Field>
          <Field label="GPUs">
            <select
              value={`${query.value.get('gpus') ?? ''}${query.value.get('exactly') === '1' ? '=' : ''}`}
              onChange={({ currentTarget: { value } }) =>
                setQuery({ gpus: value.replace('=', ''), exactly: value.endsWith('=') ? '1' : null })
              }
            >
              <option value="">any</option>
              {[2, 4, 8].map((count) => (
                <option value={count}>{count === 8 ? '8' : `${count} or more`}</option>
              ))}
              {[1, 2, 4].map((count) => (
                <option value={`${count}=`}>exactly {count}</option>
              ))}
            </select>
          </Field>
          <NumberField name="price" label="Most USD/GPU-h" step="0.01" />
          <NumberField name="vram" label="VRAM per GPU, GB" />
          <NumberField name="reliability" label="Reliability, %" step="0.1" max="100" />
        </div>
        <details open={MORE.slice(2).some((name) => query.value.has(name) && name !== 'reliability')}>
          <summary class="small">More requirements</summary>
          <div class="filters">
            <Field label="Class">
              <Select name="tier" options={Object.entries(TIERS)} />
            </Field>
            <NumberField name="ram" label="Memory, GB" />
            <NumberField name="disk" label="Free disk, GB" />
            <NumberField name="vcpus" label="vCPUs" />
            <Check name="nvlink">NVLink</Check>
            <Check name="busy">Also those that an interruptible instance holds</Check>
          </div>
        </details>
        {asked.length > 0 && (
          <div>
            <button
              type="button"
              class="plain"
              onClick={() => setQuery(Object.fromEntries(asked.map((name) => [name, null])))}
            >
              Clear all requirements
            </button>
          </div>
        )}
      </form>
    </search>
  );
}

function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

function Select({ name, options }: { name: string; options: readonly (readonly [string, string])[] }) {
  const value = query.value.get(name) ?? '';
  return (
    <select name={name} value={value} onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}>
      <option value="">any</option>
      {value !== '' && !options.some(([option]) => option === value) && <option value={value}>{value}</option>}
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  );
}

function NumberField({ name, label, ...rest }: { name: string; label: string; step?: string; max?: string }) {
  return (
    <Field label={label}>
      <input
        type="number"
        name={name}
        min="0"
        inputMode="decimal"
        placeholder="any"
        {...rest}
        value={query.value.get(name) ?? ''}
        onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value }, { replace: true })}
      />
    </Field>
  );
}

function Check({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        name={name}
        checked={query.value.get(name) === '1'}
        onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.checked ? '1' : null })}
      />
      {children}
    </label>
  );
}
