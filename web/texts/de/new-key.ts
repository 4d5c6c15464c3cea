import type { texts as english } from '../en/new-key.js';

export const texts: typeof english = {
  name: 'Name',
  nameExample: 'Laptop, Build-Server …',
  new: 'Neuer API-Schlüssel',
  create: 'Schlüssel erstellen',
  restrict: 'Netzwerke und Limit',
  scopes: 'Rechte; ohne Auswahl dieselben wie in dieser Sitzung',
  may: {
    READ: 'alles lesen, außer Logs, Links und Passwörtern',
    RENT: 'mieten, starten, anhalten, löschen, begrenzen; Volumes, Vorlagen',
    ACCESS: 'SSH-Schlüssel, Terminals, Dateien, Weblinks, offene Ports, Logs, Secrets',
    MONEY: 'Guthaben aufladen, Monatslimit setzen, Rechnungsangaben ändern',
    KEYS: 'Schlüssel erstellen, begrenzen und widerrufen, Benachrichtigungen einrichten',
  },
  ends: 'Läuft ab',
  in: { never: 'Nie', day: 'In 1 Tag', days30: 'In 30 Tagen', days90: 'In 90 Tagen', year: 'In 1 Jahr' },
  networks: 'Erlaubte Netzwerke',
  maySpend: 'Limit pro UTC-Monat (USD)',
  noLimit: 'kein Limit',
  created: 'Ihr neuer Schlüssel',
  copy: 'Schlüssel kopieren',
};
