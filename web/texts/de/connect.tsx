import type { texts as english } from '../en/connect.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  shell: (keys) => <>Für die SSH-Befehle genügt einer {keys}.</>,
  yourKeys: 'Ihrer SSH-Schlüssel',
  copyCommand: 'Befehl kopieren',
  copyAddress: 'Adresse kopieren',
  asRoot: (command) => <>Als root: {command}</>,
  tcp: (port, address) => (
    <>
      TCP-Port {port}, für alle offen: {address}
    </>
  ),
  open: (name) => `${name} öffnen`,
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
  openNumber: (port) => `Port ${port} öffnen`,
  openTab: 'In neuem Tab öffnen',
  terminal: 'Terminal',
  access: 'Ports und Passwörter',
  accessOf: (passwords, ports) =>
    [
      passwords > 0 && `${passwords} ${plural(passwords, { one: 'Passwort', other: 'Passwörter' })}`,
      `${ports} ${plural(ports, { one: 'Port', other: 'Ports' })}`,
    ]
      .filter(Boolean)
      .join(' · '),
  copyRootCommand: 'Root-Befehl kopieren',
};
