import type { texts as english } from '../en/connect.js';

export const texts: typeof english = {
  title: 'Verbinden',
  destroyed: 'Diese Instanz ist gelöscht. Eine Verbindung ist nicht mehr möglich.',
  noAgent: 'Auf dieser Maschine läuft kein Host-Agent: Die Miete ist nur ein Eintrag, und es läuft kein Container.',
  shell: (keys) => <>Shell, mit einem {keys}:</>,
  yourKeys: 'Ihrer SSH-Schlüssel',
  copyCommand: 'Befehl kopieren',
  asRoot: (command) => <>Als root: {command}</>,
  tcp: (port, address) => (
    <>
      TCP-Port {port}, für alle offen: {address}
    </>
  ),
  copyHost: 'Hostnamen kopieren',
  open: (name) => `${name} öffnen`,
  soon: 'verfügbar, sobald der Container läuft',
  generated: (variable, value) => (
    <>
      {variable}, automatisch erzeugt: {value}
    </>
  ),
  copyVariable: (variable) => `${variable} kopieren`,
  portOpen: (port, url) => (
    <>
      Port {port}, für alle offen: {url}
    </>
  ),
  portPrivate: (port, url) => (
    <>
      Port {port}, privat: {url}
    </>
  ),
  openPort: 'Öffnen',
  openTab: 'In neuem Tab öffnen',
};
