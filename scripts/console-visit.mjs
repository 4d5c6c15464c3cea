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

/**
 * Fakes an account with this many instances by listing the running one under many ids. With every response, some of them
 * have changed.
 */
export async function manyInstances(page, rows) {
  let responses = 0;
  await page.unroute('**/graphql');
  await page.route('**/graphql', async (route) => {
    const text = route.request().postData() ?? '';
    if (!/query Settle/.test(text)) return route.fallback();
    responses += 1;
    const answer = await route.fetch();
    const body = await answer.json();
    const [one] = body.data.instances;
    body.data.instances = Array.from({ length: rows }, (_, at) => ({
      ...one,
      id: `i-${at.toString(16).padStart(8, '0')}`,
      name: `${['train', 'serve', 'nightly'][at % 3]}-${at}`,
      labels: { team: ['vision', 'nlp'][at % 2] },
      status: (at + responses) % 10 === 0 ? 'STOPPED' : 'RUNNING',
    }));
    return route.fulfill({ response: answer, json: body });
  });
}

/**
 * Searches, sorts, selects and filters in a list of instances. Returns the times in ms from each keystroke, and from each
 * other interaction, to the next frame.
 */
export async function used(page) {
  await page.evaluate(() => {
    window.interactions = [];
    new PerformanceObserver((list) => {
      for (const { name, duration, interactionId } of list.getEntries())
        if (interactionId > 0) window.interactions.push({ name, duration });
    }).observe({ type: 'event', durationThreshold: 16 });
    scrollTo(0, 0);
  });
  const take = () => page.evaluate(() => window.interactions.splice(0));
  await page.getByRole('searchbox').pressSequentially('train-1 vision', { delay: 120 });
  await page.waitForTimeout(500);
  const keys = (await take()).filter(({ name }) => name === 'keydown').map(({ duration }) => duration);
  await page.getByRole('searchbox').fill('');
  for (const name of ['Name', 'Cost (USD)', 'Status']) await page.getByRole('button', { name }).click();
  await page.getByRole('checkbox', { name: 'Select all' }).click();
  await page.getByRole('checkbox', { name: 'Select all' }).click();
  const ticked = page.locator('tbody input[type="checkbox"]').first();
  await ticked.click();
  await ticked.click();
  await page.locator('tbody .menu-button').first().click();
  await page.keyboard.press('Escape');
  await page.getByRole('combobox', { name: 'Model' }).press('ArrowDown');
  await page.waitForTimeout(500);
  return { keys, all: (await take()).map(({ duration }) => duration) };
}
