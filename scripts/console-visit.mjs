// Shared by scripts that open the console in Chromium, either the one at CHROMIUM_PATH or Debian's, preferably its
// headless shell. A gateway is an address and a key, as provided by fresh-gateway.mjs.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const INSTALLED = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

export function launchChromium() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? INSTALLED.find((path) => existsSync(path)) ?? 'chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  });
}

/** Signs a browser context in with the gateway's key. */
export function signIn(context, { address, key }) {
  return context.request.post(`${address}/console/session`, { headers: { origin: address }, data: { key } });
}

/** Runs a GraphQL operation with the gateway's key and returns its data. */
export async function graphql({ address, key }, query, variables = {}) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const body = JSON.stringify({ query, variables });
  const answer = await fetch(`${address}/graphql`, { method: 'POST', headers, body });
  const { data, errors } = await answer.json();
  if (errors) throw new Error(errors[0].message);
  return data;
}
