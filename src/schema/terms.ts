import { instanceFields, RENTAL_TERMS } from '../domain/instances/fields.js';
import { type builder, fromField } from './builder.js';
import { LaunchInput, VolumeAtPathInput } from './launch.js';
import { PricingMode } from './pricing.js';

type InputFields = Parameters<Parameters<typeof builder.inputType>[1]['fields']>[0];
type Terms = typeof RENTAL_TERMS;

/** Inputs by kind of term. */
const INPUTS = {
  when: (t: InputFields, options: object) => t.string(options),
  usd: (t: InputFields, options: object) => t.float(options),
  minutes: (t: InputFields, options: object) => t.int(options),
  labels: (t: InputFields, options: object) => t.field({ type: 'Labels', ...options }),
  volumes: (t: InputFields, options: object) => t.field({ type: [VolumeAtPathInput], ...options }),
};

/** Returns the inputs for a rental's terms, which deploy, deployBest and quote all take. */
export const rentalTerms = (t: InputFields) => ({
  template: t.string(fromField(instanceFields.template)),
  diskGb: t.int(fromField(instanceFields.diskGb)),
  mode: t.field({ type: PricingMode, ...fromField(instanceFields.mode) }),
  launch: t.field({ type: LaunchInput, description: 'Launch settings in addition to template and disk.' }),
  ...optionalTerms(t),
});

function optionalTerms(t: InputFields) {
  const inputs = Object.entries(RENTAL_TERMS).map(([name, { kind, field }]) => [
    name,
    INPUTS[kind](t, fromField<unknown>(field)),
  ]);
  return Object.fromEntries(inputs) as { [Name in keyof Terms]: ReturnType<(typeof INPUTS)[Terms[Name]['kind']]> };
}
