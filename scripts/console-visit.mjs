// Shared by scripts that open the console in Chromium: the one at CHROMIUM_PATH, or Debian's, preferably headless.
// A gateway is an address and a key, as fresh-gateway.mjs provides.
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const INSTALLED = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

export function launchChromium() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? INSTALLED.find((path) => existsSync(path)) ?? 'chromium',
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  });
}

/** Signs this browser context in with the key. */
export function signIn(context, { address, key }) {
  return context.request.post(`${address}/console/session`, { headers: { origin: address }, data: { key } });
}

/** Returns the data of a GraphQL operation executed with the key. */
export async function graphql({ address, key }, query, variables = {}) {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const body = JSON.stringify({ query, variables });
  const answer = await fetch(`${address}/graphql`, { method: 'POST', headers, body });
  const { data, errors } = await answer.json();
  if (errors) throw new Error(errors[0].message);
  return data;
}
