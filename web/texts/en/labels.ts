export const texts = {
  labels: 'Labels',
  hint: 'team=vision, experiment=a1',
  change: 'Add or change',
  set: 'Set',
  remove: (key: string) => `Remove label ${key}`,
  isRemoved: (key: string) => `Label ${key} removed.`,
  restored: (key: string) => `Label ${key} restored.`,
};
