import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from '../parts/icon.js';
import { Clear, type Options, Select } from '../parts/query-fields.js';
import { query, setQuery } from '../state/location.js';
import { texts } from '../texts/en/instances.js';

interface Props {
  /** The text of the search, and what to do when it changes. */
  search: { text: string; onType(text: string): void };
  /** The states to choose from. Empty if they can't be chosen here. */
  statuses: Options;
  models: Options;
  labels: Options;
  /** The orders to choose from on a phone, where there are no headings to click. */
  orders?: Options;
  /** A button for more filters. */
  more?: ComponentChildren;
  /** The parameters of all filters, including those shown elsewhere. */
  names: readonly string[];
  /** The number of rows and similar figures at the end. */
  children: ComponentChildren;
}

/** The search and the filters above a list of instances. */
export function InstanceToolbar({ search, statuses, models, labels, orders, more, names, children }: Props) {
  const isOpen = useSignal(false);
  return (
    <search class="list-tools" aria-label={texts.filter}>
      <div class="search-field">
        <Icon name="search" />
        <input
          type="search"
          name="q"
          autocomplete="off"
          spellcheck={false}
          maxLength={100}
          aria-label={texts.search}
          placeholder={texts.searchShort}
          value={search.text}
          onInput={({ currentTarget }) => search.onType(currentTarget.value)}
        />
      </div>
      <button
        type="button"
        class="list-filters-button"
        aria-expanded={isOpen.value}
        aria-label={texts.filters}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        <Icon name="sliders-horizontal" />
      </button>
      <div class={`list-filters ${isOpen.value ? 'open' : ''}`}>
        <Select name="model" label={texts.model} any={texts.any.model} options={models} />
        <Select name="labels" label={texts.labels} any={texts.any.labels} options={labels} />
        {statuses.length > 0 && (
          <Select name="status" label={texts.columns.status} any={texts.any.status} options={statuses} />
        )}
        {orders !== undefined && (
          <Select name="sort" label={texts.sort} any={texts.newest} options={orders} class="narrow-sort" />
        )}
        {more}
        <Clear names={names}>{texts.clear}</Clear>
      </div>
      {children}
    </search>
  );
}

const WRITE_AFTER_MS = 250;

/**
 * Returns the search as typed, which the URL contains shortly afterwards: browsers limit how often a page may change
 * its URL.
 */
export function useTypedSearch(): Props['search'] {
  const typed = useSignal<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return {
    text: typed.value ?? query.value.get('q') ?? '',
    onType: (text) => {
      typed.value = text;
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        setQuery({ q: text }, { replace: true });
        typed.value = null;
      }, WRITE_AFTER_MS);
    },
  };
}
