import type { ComponentChildren } from 'preact';

export const texts = {
  title: 'How to connect',
  destroyed: 'It is destroyed; there is nothing to connect to.',
  noAgent: 'No host agent runs on this machine: the rental is a record, and no container answers here.',
  shell: (keys: ComponentChildren) => <>A shell, with one of {keys}:</>,
  yourKeys: 'your SSH keys',
  copyCommand: 'Copy the command',
  asRoot: (command: ComponentChildren) => <>As root: {command}</>,
  tcp: (port: number, address: ComponentChildren) => (
    <>
      Port {port} by TCP, open to everybody: {address}
    </>
  ),
  copyHost: 'Copy the host name',
  open: (name: string) => `Open ${name}`,
  soon: 'as soon as it is ready',
  made: (variable: string, value: ComponentChildren) => (
    <>
      {variable}, made for it: {value}
    </>
  ),
  copyVariable: (variable: string) => `Copy ${variable}`,
  portOpen: (port: number, url: ComponentChildren) => (
    <>
      Port {port}, open to everybody: {url}
    </>
  ),
  portPrivate: (port: number, url: ComponentChildren) => (
    <>
      Port {port}, private: {url}
    </>
  ),
  openPort: 'Open',
  openTab: 'Open in a new tab',
};
