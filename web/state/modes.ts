import { computed } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import type { Deploy } from '../graph/documents.js';
import { texts } from '../texts/en/modes.js';
import { query } from './location.js';

type PricingMode = NonNullable<VariablesOf<typeof Deploy>['input']['mode']>;

export interface Mode {
  value: PricingMode;
  name: string;
  /** The mode's field in an offer's price. */
  price: 'onDemand' | 'interruptible' | 'reserved';
  /** The main term in a few words, which is shown with every mode. */
  brief: string;
  /** The terms of the mode. */
  meaning: string;
}

export const MODES: readonly [Mode, ...Mode[]] = [
  {
    value: 'ON_DEMAND',
    name: texts.onDemand,
    price: 'onDemand',
    brief: texts.onDemandBrief,
    meaning: texts.onDemandMeaning,
  },
  {
    value: 'INTERRUPTIBLE',
    name: texts.interruptible,
    price: 'interruptible',
    brief: texts.interruptibleBrief,
    meaning: texts.interruptibleMeaning,
  },
  {
    value: 'RESERVED',
    name: texts.reserved,
    price: 'reserved',
    brief: texts.reservedBrief,
    meaning: texts.reservedMeaning,
  },
];

export const modeOf = (value: string): Mode => MODES.find((mode) => mode.value === value) ?? MODES[0];

/** The mode whose prices the list of machines shows, from the URL. */
export const shownMode = computed(() => modeOf(query.value.get('priced') ?? ''));

/** Returns the shown mode as a parameter for the deploy page. */
export const modeParameter = () => ({ mode: shownMode.value === MODES[0] ? null : shownMode.value.value });
