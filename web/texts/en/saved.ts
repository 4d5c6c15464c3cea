/** Named searches that are kept in this browser, by the list that they filter. */
export const texts = {
  machines: {
    title: 'Saved searches',
    saveThis: 'Save this search',
    nameOf: 'Name of the search',
    isSaved: (name: string) => `Search ${name} saved in this browser.`,
    isRemoved: (name: string) => `Search ${name} deleted.`,
    restored: (name: string) => `Search ${name} restored.`,
    tooMany: (most: number) => `You can save at most ${most} searches. Delete one first.`,
    notKept: 'This browser doesn’t allow storage: the search will be gone when you leave the page.',
  },
  instances: {
    title: 'Saved views',
    saveThis: 'Save view',
    nameOf: 'Name of the view',
    isSaved: (name: string) => `View ${name} saved in this browser.`,
    isRemoved: (name: string) => `View ${name} deleted.`,
    restored: (name: string) => `View ${name} restored.`,
    tooMany: (most: number) => `You can save at most ${most} views. Delete one first.`,
    notKept: 'This browser doesn’t allow storage: the view will be gone when you leave the page.',
  },
  rename: (name: string) => `Rename ${name}`,
  renameShort: 'Rename',
  remove: (name: string) => `Delete ${name}`,
  removeShort: 'Delete',
  edit: 'Edit',
  done: 'Done',
};
