import type { texts as english } from '../en/deadlines.js';

export const texts: typeof english = {
  title: 'Wann sie von selbst endet',
  hint: '8h, 2d12h oder 2026-11-23T18:00:00Z',
  names: { stopAt: 'Von selbst stoppen nach oder um', destroyAt: 'Von selbst löschen nach oder um' },
  idle: 'Stoppen, wenn so lange nichts darauf passiert (Minuten)',
  idleHint: '5 bis 1440',
  asBefore: 'Sie endet wieder von selbst wie zuvor.',
  noLongerIdle: 'Sie stoppt nicht mehr, wenn nichts darauf passiert.',
  noLongerStops: 'Sie stoppt dann nicht mehr von selbst.',
  noLongerDestroyed: 'Sie wird nicht mehr von selbst gelöscht.',
  stops: (at) => <>Sie stoppt {at}</>,
  isDestroyed: (at) => <>Sie wird mit ihrem Speicherplatz gelöscht: {at}</>,
  doNotStop: 'Nicht stoppen',
  doNotDestroy: 'Nicht löschen',
  stopsIdle: (minutes) =>
    `Sie stoppt nach ${minutes} Minuten, in denen keine GPU beschäftigt und niemand verbunden ist`,
  doNotStopThen: 'Dann nicht stoppen',
  never: 'Nie, solange das Guthaben reicht.',
  set: 'Festlegen',
};
