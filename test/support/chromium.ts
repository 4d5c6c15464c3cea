import { type Browser, chromium } from 'playwright-core';
import { find } from './tools.js';

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE *.localhost',
];

/** A real browser that reaches nothing but this machine. */
export function openChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: find('chromium')!, args: ARGUMENTS });
}
