import { useSignal } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import { labelsOf } from '../figures/labels.js';
import { POINT } from '../figures/number.js';
import type { Order } from '../figures/same-as.js';
import type { Quote } from '../graph/documents.js';
import { MACHINE } from './deploy-link.js';
import { filter, isFilterKnown } from './filters.js';
import { draft, link } from './launch-draft.js';
import { imageOfLink, launchOf, volumesOf } from './launch-form.js';
import { query, setQuery } from './location.js';
import { modeOf } from './modes.js';
import { inScope, scope } from './offers.js';

const DEFAULT_TEMPLATE = 'pytorch';
export const DEFAULT_DISK_GB = 50;

/** Fields that are empty by default. The URL contains their text as typed. */
export type PlainField = 'stop-at' | 'destroy-at' | 'idle' | 'limit' | 'labels';

/** Returns the input in the page's fields and the quote query for it, which is null while a field is invalid. */
export function useDeployForm() {
  const machineId = query.value.get(MACHINE);
  const typed = useSignal({
    template: (link.value === null ? query.value.get('template') : imageOfLink(query.value)) ?? DEFAULT_TEMPLATE,
    // This isn't called `disk`, because a machine requirement that costs nothing has that name.
    disk: query.value.get('deploy-disk') ?? String(DEFAULT_DISK_GB),
  });
  const type = (name: 'template' | 'disk', text: string) => {
    typed.value = { ...typed.value, [name]: text };
    setQuery({ [name === 'disk' ? 'deploy-disk' : name]: text }, { replace: true });
  };
  const plain = (name: PlainField) => query.value.get(name) ?? '';
  const { template, disk } = typed.value;
  const mode = modeOf(query.value.get('mode') ?? '');
  const diskGb = /^\d{1,7}$/.test(disk) ? Number(disk) : 0;
  const { launch, fault } = launchOf(draft.value);
  const volumes = volumesOf(draft.value);
  const stopWhenIdle = idleMinutes(plain('idle'));
  const limit = plain('limit').trim().replace(POINT, '.');
  const labels = labelsOf(plain('labels'));
  const isLimit = limit === '' || /^\d{1,7}(\.\d{1,6})?$/.test(limit);
  const terms: Omit<Order, 'machineId'> = {
    template,
    diskGb,
    mode: mode.value,
    ...(launch !== null && { launch }),
    ...(plain('stop-at') !== '' && { stopAt: plain('stop-at') }),
    ...(plain('destroy-at') !== '' && { destroyAt: plain('destroy-at') }),
    ...(limit !== '' && isLimit && { spendLimit: Number(limit) }),
    ...(stopWhenIdle !== null && { stopWhenIdle }),
    ...(volumes.length > 0 && { volumes }),
    ...(Object.keys(labels).length > 0 && { labels }),
  };
  const wanted = inScope(filter.value);
  const isComplete =
    fault === null &&
    isLimit &&
    diskGb > 0 &&
    template !== '' &&
    (machineId !== null || (isFilterKnown.value && scope.value !== null));
  const input: VariablesOf<typeof Quote>['input'] =
    machineId === null ? { ...terms, filter: wanted } : { ...terms, machineId };
  return {
    machineId,
    mode,
    template,
    disk,
    diskGb,
    type,
    plain,
    isLimit,
    launch,
    fault,
    terms,
    filter: wanted,
    input: isComplete ? input : null,
  };
}

/** Parses a whole number of minutes, or an empty field. */
export function idleMinutes(text: string): number | null {
  return /^\d{1,5}$/.test(text) ? Number(text) : null;
}
