import type { texts as english } from '../en/labels.js';

export const texts: typeof english = {
  labels: 'Labels',
  hint: 'team=vision, experiment=a1',
};
