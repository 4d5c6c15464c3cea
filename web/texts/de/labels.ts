import type { texts as english } from '../en/labels.js';

export const texts: typeof english = {
  labels: 'Labels',
  hint: 'team=vision, experiment=a1',
  change: 'Hinzufügen oder ändern',
  set: 'Festlegen',
  remove: (key) => `Label ${key} entfernen`,
  isRemoved: (key) => `Label ${key} entfernt.`,
  restored: (key) => `Label ${key} wiederhergestellt.`,
};
