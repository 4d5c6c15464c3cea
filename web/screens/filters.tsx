import type { ComponentChildren } from 'preact';
import { Clear, Field, NumberField, Select } from '../parts/query-fields.js';
import { chosenGpus, FILTER_NAMES, TIERS, toggledGpu } from '../state/filters.js';
import { query, setQuery } from '../state/location.js';
import { modelName, regions } from '../state/market.js';

const MORE = ['price', 'vram', 'ram', 'disk', 'vcpus', 'reliability', 'nvlink', 'busy'];

/** What is looked for. Each change goes into the address at once. */
export function Filters() {
  return (
    <search aria-label="Machines">
      <form class="panel padded stack-tight" onSubmit={(event) => event.preventDefault()}>
        <div class="filters">
          <Field label="GPU model" isWide>
            <input
              type="search"
              name="q"
              autocomplete="off"
              spellcheck={false}
              maxLength={100}
              placeholder="h100, rtx 4090"
              value={query.value.get('q') ?? ''}
              onInput={({ currentTarget }) => setQuery({ q: currentTarget.value }, { replace: true })}
            />
          </Field>
          <Field label="Region" isWide>
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
        {chosenGpus.value.length > 0 && (
          <p class="row small">
            <span class="quiet">Only</span>
            {chosenGpus.value.map((slug) => (
              <button
                key={slug}
                type="button"
                class="badge"
                aria-label={`No longer only ${modelName(slug)}`}
                onClick={() => setQuery({ gpu: toggledGpu(slug) })}
              >
                {modelName(slug)} <span aria-hidden="true">×</span>
              </button>
            ))}
          </p>
        )}
        <Clear names={FILTER_NAMES}>Clear all requirements</Clear>
      </form>
    </search>
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
