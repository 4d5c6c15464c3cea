import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { POINT } from '../figures/number.js';
import { visible } from '../figures/visible.js';
import { Icon } from '../parts/icon.js';
import { ModelName } from '../parts/model-name.js';
import { Clear, Field, NumberField, Select } from '../parts/query-fields.js';
import { chosenGpus, FILTER_NAMES, toggledGpu } from '../state/filters.js';
import { query, setQuery } from '../state/location.js';
import { modelName, regionChoices, regionName } from '../state/market.js';
import { texts } from '../texts/en/machines.js';
import { ModelPanel } from './model-panel.js';
import { SavedSearches } from './saved-searches.js';

/** Filters that few users need. */
const MORE = ['vram', 'reliability', 'tier', 'ram', 'disk', 'vcpus', 'nvlink', 'busy'];

/** Whether the less common filters are shown and, on a phone, all of them. */
export const areFiltersOpen = signal(false);

/** The search filters. Every change is reflected in the URL immediately. */
export function Filters() {
  const [only, another] = chosenGpus.value;
  const isSet = MORE.filter((name) => query.value.has(name)).length;
  return (
    <search class={`machine-filters ${areFiltersOpen.value ? 'open' : ''}`} aria-label={texts.search}>
      <div class="list-tools">
        <div class="search-field">
          <Icon name="search" />
          <input
            type="search"
            name="q"
            autocomplete="off"
            spellcheck={false}
            maxLength={100}
            aria-label={texts.model}
            placeholder={texts.modelHint}
            value={query.value.get('q') ?? ''}
            onInput={({ currentTarget }) => setQuery({ q: currentTarget.value }, { replace: true })}
          />
        </div>
        <GpuCount isBare />
        <NumberField name="price" label={texts.mostPrice} step="0.01" isInline />
        <Select name="region" label={texts.region} any={texts.anyRegion} options={regionChoices.value} />
        <button
          type="button"
          class="more-filters"
          aria-expanded={areFiltersOpen.value}
          onClick={() => {
            areFiltersOpen.value = !areFiltersOpen.value;
          }}
        >
          <Icon name="sliders-horizontal" />
          <span>{texts.more}</span>
          {isSet > 0 && <span class="badge">{texts.moreSet(isSet)}</span>}
        </button>
      </div>
      {areFiltersOpen.value && (
        <div class="filters">
          <NumberField name="vram" label={texts.vramEach} />
          <NumberField name="reliability" label={texts.reliabilityMin} step="0.1" max="100" />
          <Field label={texts.tier}>
            <Select name="tier" options={Object.entries(texts.tiers)} />
          </Field>
          <NumberField name="vcpus" label={texts.vcpus} />
          <NumberField name="ram" label={texts.ram} />
          <NumberField name="disk" label={texts.freeDisk} />
          <Check name="nvlink">{texts.nvlink}</Check>
          <Check name="busy">{texts.busy}</Check>
        </div>
      )}
      <div class="chips">
        {activeFilters().map(({ text, remove }) => (
          <button key={text} type="button" class="badge" aria-label={texts.removeFilter(text)} onClick={remove}>
            <ModelName name={text} />
            <Icon name="x" />
          </button>
        ))}
        <Clear names={FILTER_NAMES}>{texts.clear}</Clear>
        {only !== undefined && another === undefined && <ModelPanel slug={only} />}
        <SavedSearches />
      </div>
    </search>
  );
}

/** Describes the value of each filter, except those for models. */
const TEXTS: readonly (readonly [name: string, of: (value: string) => string])[] = [
  ['gpus', (value) => (query.value.get('exactly') === '1' ? texts.exactly(value) : texts.atLeast(value))],
  ['price', (value) => texts.chips.price(value.replace('.', POINT))],
  ['region', regionName],
  ['vram', texts.chips.vram],
  ['reliability', (value) => texts.chips.reliability(value.replace('.', POINT))],
  ['tier', (value) => (Object.hasOwn(texts.tiers, value) ? texts.tiers[value as keyof typeof texts.tiers] : value)],
  ['vcpus', texts.chips.vcpus],
  ['ram', texts.chips.ram],
  ['disk', texts.chips.disk],
  ['nvlink', () => texts.nvlink],
  ['busy', () => texts.chips.busy],
];

/** Returns the active filters, except the text of the search, which its field shows. */
function activeFilters(): { text: string; remove(): void }[] {
  const ofModels = chosenGpus.value.map((slug) => ({
    text: visible(modelName(slug)),
    remove: () => setQuery({ gpu: toggledGpu(slug) }),
  }));
  const others = TEXTS.flatMap(([name, of]) => {
    const value = query.value.get(name);
    if (value === null) return [];
    return {
      text: visible(of(value)),
      remove: () => setQuery({ [name]: null, ...(name === 'gpus' && { exactly: null }) }),
    };
  });
  return [...ofModels, ...others];
}

/** A choice of the number of GPUs. If it is bare, its first option names it instead of a label. */
export function GpuCount({ isBare = false }: { isBare?: boolean }) {
  const value = `${query.value.get('gpus') ?? ''}${query.value.get('exactly') === '1' ? '=' : ''}`;
  const [atLeast, exactly] = isBare ? [texts.atLeast, texts.exactly] : [texts.orMore, texts.just];
  const select = (
    <select
      name="gpus"
      aria-label={isBare ? texts.gpus : undefined}
      class={isBare && value !== '' ? 'set' : ''}
      value={value}
      onChange={({ currentTarget }) =>
        setQuery({
          gpus: currentTarget.value.replace('=', ''),
          exactly: currentTarget.value.endsWith('=') ? '1' : null,
        })
      }
    >
      <option value="">{isBare ? texts.anyCount : atLeast('1')}</option>
      {['2', '4', '8'].map((count) => (
        <option value={count}>{count === '8' ? exactly(count) : atLeast(count)}</option>
      ))}
      {['1', '2', '4'].map((count) => (
        <option value={`${count}=`}>{exactly(count)}</option>
      ))}
    </select>
  );
  return isBare ? select : <Field label={texts.gpus}>{select}</Field>;
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
