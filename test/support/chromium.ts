import { type Browser, chromium } from 'playwright-core';
import { find } from './tools.js';
import { atEndOfWorker } from './worker.js';

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost , EXCLUDE *.localhost',
];

let shared: Promise<Browser> | undefined;

/** Returns the browser shared by this worker's test files. Each test opens and closes its own context. */
export function sharedChromium(): Promise<Browser> {
  shared ??= openChromium();
  return shared;
}

/** Starts a real browser that can reach only this machine. */
export function openChromium(): Promise<Browser> {
  // Playwright ends it when this process exits.
  atEndOfWorker(() => {});
  return chromium.launch({ executablePath: find('chromium')!, args: ARGUMENTS, handleSIGTERM: false });
}
