import type { VariablesOf } from 'gql.tada';
import type { Deploy } from '../graph/documents.js';

type PricingMode = NonNullable<VariablesOf<typeof Deploy>['input']['mode']>;

export interface Mode {
  value: PricingMode;
  name: string;
  /** Its field in the price of an offer. */
  price: 'onDemand' | 'interruptible' | 'reserved';
  /** Of its prices, at least: they stand under each other. On-demand prices are whole cents; half and 65 % of them have more. */
  decimals: number;
  /** What one agrees to. */
  meaning: string;
}

export const MODES: readonly Mode[] = [
  {
    value: 'ON_DEMAND',
    name: 'On demand',
    price: 'onDemand',
    decimals: 2,
    meaning: 'Yours until you stop it. The price is locked for the life of the instance.',
  },
  {
    value: 'INTERRUPTIBLE',
    name: 'Interruptible',
    price: 'interruptible',
    decimals: 3,
    meaning:
      'Half the price. Someone who rents the machine on demand or reserved stops it at once, without notice; its disk stays and keeps costing.',
  },
  {
    value: 'RESERVED',
    name: 'Reserved',
    price: 'reserved',
    decimals: 4,
    meaning:
      '65 % of the price for 3 months of running; time stopped does not count. Destroying it sooner costs the discount you had until then.',
  },
];

export const modeOf = (value: string): Mode => MODES.find((mode) => mode.value === value) ?? MODES[0]!;
