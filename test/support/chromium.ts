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
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE *.localhost',
];

let shared: Promise<Browser> | undefined;

/** The browser of all test files of this worker: each test opens its own context and closes it. */
export function sharedChromium(): Promise<Browser> {
  shared ??= openChromium();
  return shared;
}

/** A real browser that reaches nothing but this machine. */
export function openChromium(): Promise<Browser> {
  // Playwright ends it when this process exits.
  atEndOfWorker(() => {});
  return chromium.launch({ executablePath: find('chromium')!, args: ARGUMENTS, handleSIGTERM: false });
}
