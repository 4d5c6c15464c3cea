/** The menu of an instance’s row, and the dialog for labels that it opens. */
export const texts = {
  terminal: 'Open terminal',
  log: 'Log',
  editLabels: 'Edit labels …',
  labelsOf: (name: string) => `Labels of ${name}`,
  labels: 'Labels, separated by commas',
  saved: (name: string) => `Labels of ${name} saved.`,
};
