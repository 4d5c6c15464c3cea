// What scripts that open the console in Chromium share: that of CHROMIUM_PATH, or Debian's, if possible the one without a
// user interface. A gateway is what fresh-gateway.mjs gives: its address, and a key.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const INSTALLED = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

export function launchChromium() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? INSTALLED.find((path) => existsSync(path)) ?? 'chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  });
}

/** Pages of this browser context are those of the key's account from then on. */
export function signIn(context, { address, key }) {
  return context.request.post(`${address}/console/session`, { headers: { origin: address }, data: { key } });
}

/** The data of an operation that the key asks for. */
export async function graphql({ address, key }, query, variables = {}) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const body = JSON.stringify({ query, variables });
  const answer = await fetch(`${address}/graphql`, { method: 'POST', headers, body });
  const { data, errors } = await answer.json();
  if (errors) throw new Error(errors[0].message);
  return data;
}
