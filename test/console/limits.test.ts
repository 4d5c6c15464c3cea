import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.js';
import { createDeps, type Deps } from '../../src/domain/deps.js';
import { systemClock } from '../../src/system-clock.js';
import { openChromium } from '../support/chromium.js';
import { testSettings } from '../support/clock.js';
import { beyondWindow, faultsIn, Pages, SOON_MS } from '../support/console/pages.js';
import { createTestDatabase } from '../support/database.js';
import { createRenter, type Renter } from '../support/gateway.js';
import { cleanUp, type Env, type GatewayProcess, startProcess } from '../support/process.js';
import { needs } from '../support/tools.js';
import { linkIn, startMailServer } from '../support/webhooks/mail-server.js';
import { startReceiver } from '../support/webhooks/receiver.js';

const PATIENCE = { timeout: SOON_MS, interval: 100 };
/** A folder that pictures go to, for whoever wants to look. */
const PICTURES = process.env.PICTURES;

describe('limits and notices in Chromium', needs('chromium'), () => {
  let browser: Browser;
  let env: Env;
  let gateway: GatewayProcess;
  let db: Database;
  let deps: Deps;
  let pages: Pages;

  beforeAll(async () => {
    const databaseUrl = await createTestDatabase();
    db = openDatabase(databaseUrl);
    deps = createDeps(db, systemClock, testSettings());
    env = {
      DATABASE_URL: databaseUrl,
      RATE_LIMIT_PER_MINUTE: '0',
      SECRETS_KEY: 'ab'.repeat(32),
      WEBHOOK_NETWORKS: '127.0.0.1',
    };
    gateway = await startProcess(env);
    browser = await openChromium();
    pages = new Pages(browser, gateway.address);
  });
  afterAll(async () => {
    await pages?.close();
    await browser?.close();
    await gateway?.end();
    await db?.close();
    await cleanUp();
  });

  const renter = () => createRenter(deps, gateway.address, '100');
  const ask = async (owner: Renter, query: string) => {
    const { body } = await owner.graphql(query);
    expect(body.errors).toBeUndefined();
    // biome-ignore lint/suspicious/noExplicitAny: answers are of every shape
    return Object.values<any>(body.data)[0];
  };
  const open = async (owner: Renter, path: string) => pages.visit(path, await pages.context(owner));
  /** Serious faults for whoever hears the page, and whatever does not fit, wide and on a phone. */
  const look = async (page: Page, name: string) => {
    for (const width of [390, 1_400]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await beyondWindow(page), `${name} at ${width}`).toBe(0);
      expect(await faultsIn(page), `${name} at ${width}`).toEqual([]);
      if (PICTURES === undefined) continue;
      mkdirSync(PICTURES, { recursive: true });
      await page.screenshot({ path: `${PICTURES}/${name}-${width}.png`, fullPage: true });
    }
  };

  it('set, show and take away what an account may spend in a month', async () => {
    const owner = await renter();
    const { page, complaints } = await open(owner, '/money');
    const limit = page.getByRole('region', { name: 'Limit of a month' });
    await limit.getByText('No limit.').waitFor();
    await limit.getByLabel('May spend in a UTC month, USD').fill('12.5');
    await limit.getByRole('button', { name: 'Set a limit' }).click();
    await limit.getByText('of 12.50 USD spent this month').waitFor();
    await limit.getByText('Not reached at the present rates.').waitFor();
    expect((await ask(owner, '{ account { monthlyLimit } }')).monthlyLimit).toBe(12.5);
    await look(page, 'money');
    await limit.getByRole('button', { name: 'Take the limit away' }).click();
    await limit.getByText('No limit.').waitFor();
    expect((await ask(owner, '{ account { monthlyLimit } }')).monthlyLimit).toBeNull();
    expect(complaints).toEqual([]);
  });

  it('set, show and take away what an instance may cost, and say when that is reached', async () => {
    const owner = await renter();
    const { id } = await ask(owner, 'mutation { deployBest(input: { gpus: ["t4"], stopAt: "9h" }) { id } }');
    const { page, complaints } = await open(owner, `/instances/${id}`);
    const limit = page.getByRole('region', { name: 'What it may cost' });
    await limit.getByLabel('May cost in all, USD').fill('1');
    await limit.getByRole('button', { name: 'Set a limit' }).click();
    await limit.getByText('of 1.00 USD spent by it').waitFor();
    await limit.getByText(/^It is reached .*: what runs under it stops at that second\.$/).waitFor();
    await page.getByRole('region', { name: 'When it ends by itself' }).getByText('It stops').waitFor();
    const { spendLimit, limitReachedAt } = await ask(owner, `{ instance(id: "${id}") { spendLimit limitReachedAt } }`);
    expect(spendLimit).toBe(1);
    expect(Date.parse((await limit.locator('time').getAttribute('datetime'))!)).toBe(Date.parse(limitReachedAt));
    await look(page, 'instance');
    await limit.getByLabel('May cost in all, USD').fill('-1');
    await limit.getByRole('button', { name: 'Change it' }).click();
    expect(
      await limit.getByLabel('May cost in all, USD').evaluate((input: HTMLInputElement) => input.validity.valid),
    ).toBe(false);
    await limit.getByRole('button', { name: 'Take the limit away' }).click();
    await limit.getByText('No limit.').waitFor();
    expect(complaints).toEqual([]);
  });

  it('are read again once changes are followed: one from between is in no event', async () => {
    const owner = await renter();
    const { id } = await ask(owner, 'mutation { deployBest(input: { gpus: ["t4"] }) { id } }');
    const context = await pages.context(owner);
    let follow: () => void = () => {};
    const mayFollow = new Promise<void>((resolve) => {
      follow = resolve;
    });
    await context.route('**/graphql', async (route) => {
      if (/AccountChanged/.test(route.request().postData() ?? '')) await mayFollow;
      await route.continue();
    });
    const { page } = await pages.visit(`/instances/${id}`, context);
    const limit = page.getByRole('region', { name: 'What it may cost' });
    await limit.getByText('No limit.').waitFor();
    await ask(owner, `mutation { setSpendLimit(id: "${id}", spendLimit: 2) { id } }`);
    follow();
    await limit.getByText('of 2.00 USD spent by it').waitFor();
  });

  it('make a key with a limit, and change the limit of a key', async () => {
    const owner = await renter();
    const { page, complaints } = await open(owner, '/keys');
    await page.getByLabel('Name', { exact: true }).first().fill('ci');
    await page.getByText('With less power').click();
    await page.getByLabel('May spend in a month (UTC), in USD').fill('3');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Your new key, shown this once').waitFor();
    const row = page.getByRole('row', { name: /^ci/ });
    await row.getByText('0.00 of 3.00 USD').waitFor();
    await row.getByRole('button', { name: 'Change the limit of ci' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('May spend in a UTC month, USD').fill('4');
    await dialog.getByRole('button', { name: 'Change it' }).click();
    await dialog.getByText('of 4.00 USD spent by it this month').waitFor();
    await look(page, 'key-limit');
    await page.keyboard.press('Escape');
    await row.getByText('0.00 of 4.00 USD').waitFor();
    await look(page, 'keys');
    const keys = await ask(owner, '{ apiKeys { name monthlyLimit } }');
    expect(keys).toContainEqual({ name: 'ci', monthlyLimit: 4 });
    expect(complaints).toEqual([]);
  });

  it('ask a mail address for confirmation, and forget it', async () => {
    const mails = await startMailServer();
    const sender = await startProcess({
      ...env,
      SMTP_URL: mails.url,
      SMTP_TLS: 'offered',
      MAIL_FROM: 'notices@example.com',
    });
    try {
      const owner = await createRenter(deps, sender.address, '1');
      const there = new Pages(browser, sender.address);
      const { page, complaints } = await there.visit('/webhooks', await there.context(owner));
      const mail = page.getByRole('region', { name: 'Mail' });
      await mail.getByLabel('Your mail address').fill('owner@example.com');
      await mail.getByRole('button', { name: 'Send me a link to confirm it' }).click();
      await mail.getByText(/was sent a link\. Open it until/).waitFor();
      await expect.poll(() => mails.received.length, PATIENCE).toBe(1);
      await look(page, 'mail-asked');
      // The page that the link leads to needs no sign-in.
      const asked = await (await there.context(null)).newPage();
      await asked.goto(linkIn(mails.received[0]!));
      await look(asked, 'mail-confirm');
      await asked.getByRole('button', { name: 'Yes, send them' }).click();
      await asked.getByText('Your address is confirmed').waitFor();
      await page.reload();
      await mail.getByText(/gets all events; 0 waiting/).waitFor();
      await mail.getByRole('button', { name: 'Send a test mail' }).click();
      await expect.poll(() => mails.subjects().at(-1), PATIENCE).toBe('This is a test mail');
      await look(page, 'mail');
      await mail.getByRole('button', { name: 'Delete the address' }).click();
      await mail.getByLabel('Your mail address').waitFor();
      expect(complaints).toEqual([]);
      await there.close();
    } finally {
      await sender.end();
      await mails.close();
    }
  });

  it('tell a webhook, show what became of it, and say in the activity who made it', async () => {
    const owner = await renter();
    const receiver = await startReceiver();
    try {
      const { page, complaints } = await open(owner, '/webhooks');
      await page.getByLabel(/^Address that events are sent to/).fill(receiver.url);
      await page.getByRole('button', { name: 'Create a webhook' }).click();
      const secret = await page.locator('code.secret').innerText();
      const webhook = page.getByRole('region', { name: receiver.url });
      await webhook.getByRole('button', { name: 'Send a test' }).click();
      await expect.poll(() => receiver.types(), PATIENCE).toEqual(['webhook.test']);
      expect(() => receiver.verify(secret, receiver.received[0]!)).not.toThrow();
      await expect
        .poll(async () => (await ask(owner, '{ webhooks { attempts { status } } }'))[0].attempts, PATIENCE)
        .toEqual([{ status: 200 }]);
      // What became of it is seen without asking.
      await webhook.getByText('delivered', { exact: true }).waitFor();
      await webhook.getByText('answered 200', { exact: true }).waitFor();
      await webhook.getByText('1 attempt', { exact: true }).click();
      await look(page, 'webhooks');
      await webhook.getByRole('button', { name: 'Send again: webhook.test' }).click();
      await expect.poll(() => receiver.types(), PATIENCE).toEqual(['webhook.test', 'webhook.test']);
      await webhook.getByRole('button', { name: 'Pause' }).click();
      await webhook.getByText(/Paused since/).waitFor();
      await webhook.getByRole('button', { name: `Delete the webhook to ${receiver.url}` }).click();
      await page.getByText('No webhooks yet').waitFor();
      await page.goto(`${gateway.address}/activity`);
      const rows = page.getByRole('row');
      for (const asked of ['Create a webhook', 'Test a webhook', 'Send an event again', 'Change a webhook'])
        await rows.filter({ hasText: asked }).first().waitFor();
      await rows.filter({ hasText: 'Delete a webhook' }).getByText('in the console').waitFor();
      await look(page, 'activity');
      expect(complaints).toEqual([]);
    } finally {
      await receiver.close();
    }
  });
});
