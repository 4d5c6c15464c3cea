/** The menu of an instance’s row, and the dialog for labels that it opens. */
export const texts = {
  terminal: 'Open terminal',
  log: 'Log',
  copyId: 'Copy ID',
  idCopied: (id: string) => `${id} copied.`,
  editLabels: 'Edit labels …',
  labelsOf: (name: string) => `Labels of ${name}`,
  labels: 'Labels, separated by commas',
  saved: (name: string) => `Labels of ${name} saved.`,
};
