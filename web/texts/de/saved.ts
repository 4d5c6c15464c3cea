import type { texts as english } from '../en/saved.js';

export const texts: typeof english = {
  machines: {
    title: 'Gespeicherte Suchen',
    saveThis: 'Diese Suche speichern',
    nameOf: 'Name der Suche',
    isSaved: (name) => `Suche ${name} in diesem Browser gespeichert.`,
    isRemoved: (name) => `Suche ${name} gelöscht.`,
    restored: (name) => `Suche ${name} wiederhergestellt.`,
    tooMany: (most) => `Sie können höchstens ${most} Suchen speichern. Löschen Sie zuerst eine.`,
    notKept: 'Dieser Browser erlaubt keine Speicherung: Die Suche geht verloren, wenn Sie die Seite verlassen.',
  },
  instances: {
    title: 'Gespeicherte Ansichten',
    saveThis: 'Ansicht speichern',
    nameOf: 'Name der Ansicht',
    isSaved: (name) => `Ansicht ${name} in diesem Browser gespeichert.`,
    isRemoved: (name) => `Ansicht ${name} gelöscht.`,
    restored: (name) => `Ansicht ${name} wiederhergestellt.`,
    tooMany: (most) => `Sie können höchstens ${most} Ansichten speichern. Löschen Sie zuerst eine.`,
    notKept: 'Dieser Browser erlaubt keine Speicherung: Die Ansicht geht verloren, wenn Sie die Seite verlassen.',
  },
  rename: (name) => `${name} umbenennen`,
  renameShort: 'Umbenennen',
  remove: (name) => `${name} löschen`,
  removeShort: 'Löschen',
  edit: 'Bearbeiten',
  done: 'Fertig',
};
