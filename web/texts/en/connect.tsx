import type { ComponentChildren } from 'preact';
import { plural } from '../plural.js';

export const texts = {
  shell: (keys: ComponentChildren) => <>The SSH commands work with any of {keys}.</>,
  yourKeys: 'your SSH keys',
  copyCommand: 'Copy command',
  copyAddress: 'Copy address',
  asRoot: (command: ComponentChildren) => <>As root: {command}</>,
  tcp: (port: number, address: ComponentChildren) => (
    <>
      TCP port {port}, open to anyone: {address}
    </>
  ),
  open: (name: string) => `Open ${name}`,
  generated: (variable: string, value: ComponentChildren) => (
    <>
      {variable}, generated: {value}
    </>
  ),
  copyVariable: (variable: string) => `Copy ${variable}`,
  portOpen: (port: number, url: ComponentChildren) => (
    <>
      Port {port}, open to anyone: {url}
    </>
  ),
  portPrivate: (port: number, url: ComponentChildren) => (
    <>
      Port {port}, private: {url}
    </>
  ),
  openPort: 'Open',
  openNumber: (port: number) => `Open port ${port}`,
  openTab: 'Open in new tab',
  terminal: 'Terminal',
  access: 'Ports and passwords',
  accessOf: (passwords: number, ports: number): string =>
    [
      passwords > 0 && `${passwords} ${plural(passwords, { one: 'password', other: 'passwords' })}`,
      `${ports} ${plural(ports, { one: 'port', other: 'ports' })}`,
    ]
      .filter(Boolean)
      .join(' · '),
  copyRootCommand: 'Copy root command',
};
