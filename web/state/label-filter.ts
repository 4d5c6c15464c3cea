import { computed } from '@preact/signals';
import { path, query, withParameters } from './location.js';

/** The labels that listed instances must have, from the URL. */
export const requiredLabels = computed<readonly string[]>(
  () => (path.value === '/instances' && query.value.get('labels')?.split(',').filter(Boolean)) || [],
);

/** Returns the URL of the list that requires this label too or, if it already does, no longer requires it. */
export function toggledLabel(requirement: string): string {
  const required = requiredLabels.value;
  const parameters = new URLSearchParams(path.value === '/instances' ? query.value : '');
  const next = required.includes(requirement)
    ? required.filter((one) => one !== requirement)
    : [...required, requirement];
  parameters.set('labels', next.join(','));
  if (next.length === 0) parameters.delete('labels');
  return withParameters('/instances', parameters);
}
