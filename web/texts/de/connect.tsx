import type { texts as english } from '../en/connect.js';

export const texts: typeof english = {
  title: 'So verbinden Sie sich',
  destroyed: 'Sie ist gelöscht; es gibt nichts mehr, womit man sich verbinden könnte.',
  noAgent: 'Auf dieser Maschine läuft kein Host-Agent: Die Miete ist nur verzeichnet, und kein Container antwortet.',
  shell: (keys) => <>Eine Shell, mit einem {keys}:</>,
  yourKeys: 'Ihrer SSH-Schlüssel',
  copyCommand: 'Befehl kopieren',
  asRoot: (command) => <>Als root: {command}</>,
  tcp: (port, address) => (
    <>
      Port {port} über TCP, für alle offen: {address}
    </>
  ),
  copyHost: 'Hostnamen kopieren',
  open: (name) => `${name} öffnen`,
  soon: 'sobald sie bereit ist',
  made: (variable, value) => (
    <>
      {variable}, für sie erzeugt: {value}
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
