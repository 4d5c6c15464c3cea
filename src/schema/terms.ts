import { instanceFields } from '../domain/instances/fields.js';
import { volumeFields } from '../domain/volumes/fields.js';
import { type builder, fromField } from './builder.js';
import { LaunchInput, VolumeAtPathInput } from './launch.js';
import { PricingMode } from './pricing.js';

type InputFields = Parameters<Parameters<typeof builder.inputType>[1]['fields']>[0];

/** Returns the inputs for a rental's terms, which deploy, deployBest and quote all take. */
export const rentalTerms = (t: InputFields) => ({
  template: t.string(fromField(instanceFields.template)),
  diskGb: t.int(fromField(instanceFields.diskGb)),
  mode: t.field({ type: PricingMode, ...fromField(instanceFields.mode) }),
  launch: t.field({ type: LaunchInput, description: 'Launch settings in addition to template and disk.' }),
  stopAt: t.string(fromField(instanceFields.stopAt)),
  destroyAt: t.string(fromField(instanceFields.destroyAt)),
  spendLimit: t.float(fromField(instanceFields.spendLimit)),
  stopWhenIdle: t.int(fromField(instanceFields.stopWhenIdle)),
  labels: t.field({ type: 'Labels', ...fromField(instanceFields.labels) }),
  volumes: t.field({ type: [VolumeAtPathInput], ...fromField(volumeFields.volumes) }),
});
