import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'Connect',
  destroyed: 'This instance has been destroyed; there is nothing to connect to.',
  noAgent: 'This machine has no host agent: the rental is only a record, without a container.',
  shell: (keys: ComponentChildren) => <>Shell, with any of {keys}:</>,
  yourKeys: 'your SSH keys',
  copyCommand: 'Copy command',
  asRoot: (command: ComponentChildren) => <>As root: {command}</>,
  tcp: (port: number, address: ComponentChildren) => (
    <>
      TCP port {port}, open to anyone: {address}
    </>
  ),
  copyHost: 'Copy host name',
  open: (name: string) => `Open ${name}`,
  soon: 'available once the container is running',
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
  openTab: 'Open in new tab',
};
