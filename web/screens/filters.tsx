import type { ComponentChildren } from 'preact';
import { Fold } from '../parts/fold.js';
import { Clear, Field, NumberField, Select } from '../parts/query-fields.js';
import { chosenGpus, FILTER_NAMES, toggledGpu } from '../state/filters.js';
import { query, setQuery } from '../state/location.js';
import { modelName, regions } from '../state/market.js';
import { texts } from '../texts/en/machines.js';
import { SavedSearches } from './saved-searches.js';

const FOLDED = ['tier', 'ram', 'disk', 'vcpus', 'nvlink', 'busy'];

/** The search filters. Every change is reflected in the URL immediately. */
export function Filters() {
  const folded = FOLDED.filter((name) => query.value.has(name)).length;
  return (
    <search aria-label={texts.search}>
      <form class="panel padded stack-tight" onSubmit={(event) => event.preventDefault()}>
        <div class="filters">
          <Field label={texts.model} isWide>
            <input
              type="search"
              name="q"
              autocomplete="off"
              spellcheck={false}
              maxLength={100}
              placeholder={texts.modelHint}
              value={query.value.get('q') ?? ''}
              onInput={({ currentTarget }) => setQuery({ q: currentTarget.value }, { replace: true })}
            />
          </Field>
          <Field label={texts.region} isWide>
            <Select
              name="region"
              options={[...regions.value.values()].map(({ code, name, country }) => [code, `${name}, ${country}`])}
            />
          </Field>
          <GpuCount />
          <NumberField name="price" label={texts.mostPrice} step="0.01" />
          <NumberField name="vram" label={texts.vramEach} />
          <NumberField name="reliability" label={texts.reliabilityMin} step="0.1" max="100" />
        </div>
        <Fold title={texts.more} summary={folded > 0 ? texts.moreSet(folded) : undefined} isOpen={folded > 0}>
          <div class="filters">
            <Field label={texts.tier}>
              <Select name="tier" options={Object.entries(texts.tiers)} />
            </Field>
            <NumberField name="ram" label={texts.ram} />
            <NumberField name="disk" label={texts.freeDisk} />
            <NumberField name="vcpus" label={texts.vcpus} />
            <Check name="nvlink">{texts.nvlink}</Check>
            <Check name="busy">{texts.busy}</Check>
          </div>
        </Fold>
        {chosenGpus.value.length > 0 && (
          <p class="row small">
            <span class="quiet">{texts.only}</span>
            {chosenGpus.value.map((slug) => (
              <button
                key={slug}
                type="button"
                class="badge"
                aria-label={texts.removeModel(modelName(slug))}
                onClick={() => setQuery({ gpu: toggledGpu(slug) })}
              >
                {modelName(slug)} <span aria-hidden="true">×</span>
              </button>
            ))}
          </p>
        )}
        <Clear names={FILTER_NAMES}>{texts.clear}</Clear>
        <SavedSearches />
      </form>
    </search>
  );
}

export function GpuCount() {
  return (
    <Field label={texts.gpus}>
      <select
        name="gpus"
        value={`${query.value.get('gpus') ?? ''}${query.value.get('exactly') === '1' ? '=' : ''}`}
        onChange={({ currentTarget: { value } }) =>
          setQuery({ gpus: value.replace('=', ''), exactly: value.endsWith('=') ? '1' : null })
        }
      >
        <option value="">{texts.any}</option>
        {[2, 4, 8].map((count) => (
          <option value={count}>{count === 8 ? '8' : texts.atLeast(count)}</option>
        ))}
        {[1, 2, 4].map((count) => (
          <option value={`${count}=`}>{texts.exactly(count)}</option>
        ))}
      </select>
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
