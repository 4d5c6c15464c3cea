import type { texts as english } from '../en/deadlines.js';

export const texts: typeof english = {
  title: 'Wann sie von selbst endet',
  hint: '8h, 2d12h oder 2026-11-23T18:00:00Z',
  names: { stopAt: 'Von selbst anhalten nach oder um', destroyAt: 'Von selbst löschen nach oder um' },
  idle: 'Anhalten, wenn so lange nichts darauf passiert (Minuten)',
  idleHint: '5 bis 1440',
  asBefore: 'Sie endet wieder von selbst wie zuvor.',
  noLongerIdle: 'Sie wird nicht mehr angehalten, wenn nichts darauf passiert.',
  noLongerStops: 'Sie wird dann nicht mehr von selbst angehalten.',
  noLongerDestroyed: 'Sie wird nicht mehr von selbst gelöscht.',
  stops: (at) => <>Sie wird {at} angehalten</>,
  isDestroyed: (at) => <>Sie wird mit ihrem Speicherplatz gelöscht: {at}</>,
  doNotStop: 'Nicht anhalten',
  doNotDestroy: 'Nicht löschen',
  stopsIdle: (minutes) =>
    `Sie wird nach ${minutes} Minuten angehalten, in denen keine GPU beschäftigt und niemand verbunden ist`,
  doNotStopThen: 'Dann nicht anhalten',
  never: 'Nie, solange das Guthaben reicht.',
  set: 'Festlegen',
};
