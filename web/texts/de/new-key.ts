import type { texts as english } from '../en/new-key.js';

export const texts: typeof english = {
  name: 'Name',
  nameExample: 'Laptop, Build-Server …',
  create: 'Schlüssel anlegen',
  lessPower: 'Mit weniger Rechten',
  scopes: 'Was er darf; ohne Auswahl dasselbe wie diese Sitzung',
  may: {
    READ: 'alles lesen außer Logs und Geheimnissen',
    RENT: 'mieten, starten, anhalten, löschen',
    ACCESS: 'SSH-Schlüssel, Terminals, Weblinks, offene Ports, Logs, Geheimnisse',
    MONEY: 'Guthaben aufladen',
    KEYS: 'Schlüssel anlegen und widerrufen, Benachrichtigungen einrichten',
  },
  ends: 'Läuft ab',
  in: { never: 'Nie', day: 'In einem Tag', days30: 'In 30 Tagen', days90: 'In 90 Tagen', year: 'In einem Jahr' },
  networks: 'Nur aus diesen Netzen',
  maySpend: 'Höchstens pro Monat (UTC), in USD',
  noLimit: 'kein Limit',
  made: 'Ihr neuer Schlüssel, nur dieses eine Mal gezeigt',
  copy: 'Schlüssel kopieren',
  haveIt: 'Ich habe ihn',
};
