import type { texts as english } from '../en/instance-menu.js';

export const texts: typeof english = {
  terminal: 'Terminal öffnen',
  log: 'Log',
  copyId: 'ID kopieren',
  idCopied: (id) => `${id} kopiert.`,
  editLabels: 'Labels bearbeiten …',
  labelsOf: (name) => `Labels von ${name}`,
  labels: 'Labels, durch Kommas getrennt',
  saved: (name) => `Labels von ${name} gespeichert.`,
};
