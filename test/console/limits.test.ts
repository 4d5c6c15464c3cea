import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { expectSound, expectSoundInLongRun, Pages, SOON_MS } from '../support/console/pages.js';
import { createRenter, type Renter } from '../support/gateway.js';
import { cleanUp, startProcess } from '../support/process.js';
import { newSshKey } from '../support/ssh-key.js';
import { needs } from '../support/tools.js';
import { linkIn, startMailServer } from '../support/webhooks/mail-server.js';
import { startReceiver } from '../support/webhooks/receiver.js';

const PATIENCE = { timeout: SOON_MS, interval: 100 };

describe('the limit and notice settings in Chromium', needs('chromium'), () => {
  let here: OpenConsole;

  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(async () => {
    await here?.close();
    await cleanUp();
  });

  const renter = () => here.renter();
  const ask = async (owner: Renter, query: string) => {
    const { body } = await owner.graphql(query);
    expect(body.errors).toBeUndefined();
    // biome-ignore lint/suspicious/noExplicitAny: responses have every shape
    return Object.values<any>(body.data)[0];
  };
  const open = async (owner: Renter, path: string) => here.pages.visit(path, await here.pages.context(owner));

  it("set, show and remove an account's monthly limit", async () => {
    const owner = await renter();
    const { page, complaints } = await open(owner, '/billing');
    const settings = page.getByRole('region', { name: 'Settings' });
    const dialog = page.getByRole('dialog', { name: 'Monthly limit' });
    const edit = async (usd: string) => {
      await settings.getByRole('button', { name: 'Edit: Monthly limit' }).click();
      await dialog.getByLabel('Limit per UTC month (USD)').fill(usd);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    await edit('12.5');
    await settings.getByText('of 12.50 USD spent this month').waitFor();
    expect((await ask(owner, '{ account { monthlyLimit } }')).monthlyLimit).toBe(12.5);
    await expectSoundInLongRun(page);
    await edit('');
    await settings.getByText('of 12.50 USD').waitFor({ state: 'detached' });
    expect((await ask(owner, '{ account { monthlyLimit } }')).monthlyLimit).toBeNull();
    expect(complaints).toEqual([]);
  });

  it('change and disable the low-balance notification', async () => {
    const owner = await renter();
    const { page } = await open(owner, '/billing');
    const dialog = page.getByRole('dialog', { name: 'Low-balance notification' });
    for (const [typed, below] of [
      ['7.5', 7.5],
      ['', null],
    ] as const) {
      await page.getByRole('button', { name: 'Edit: Low-balance notification' }).click();
      await dialog.getByLabel('Balance (USD)').fill(typed);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page
        .locator('.setting')
        .filter({ hasText: below === null ? 'off' : 'at 7.50 USD' })
        .waitFor();
      expect(await ask(owner, '{ balanceNotice }')).toBe(below);
    }
  });

  it('set, show and remove an instance’s limit and show when it is reached', async () => {
    const owner = await renter();
    const { id } = await ask(owner, 'mutation { deployBest(input: { gpus: ["t4"], stopAt: "9h" }) { id } }');
    const { page, complaints } = await open(owner, `/instances/${id}`);
    const limit = page.getByRole('region', { name: 'State' }).getByRole('listitem').filter({ hasText: 'USD spent' });
    const dialog = page.getByRole('dialog', { name: `Edit ${id}` });
    const edit = async () => page.getByRole('button', { name: `Edit limits of ${id}` }).click();
    await page.getByText(/^Stops /).waitFor();
    await edit();
    await dialog.getByLabel('Spend limit (USD)').fill('1');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await limit.getByText('of 1.00 USD spent').waitFor();
    await limit.getByText(/^The limit will be reached .*\. The instance then stops\.$/).waitFor();
    const { spendLimit, limitReachedAt } = await ask(owner, `{ instance(id: "${id}") { spendLimit limitReachedAt } }`);
    expect(spendLimit).toBe(1);
    expect(Date.parse((await limit.locator('time').getAttribute('datetime'))!)).toBe(Date.parse(limitReachedAt));
    await expectSoundInLongRun(page);
    await edit();
    const field = dialog.getByLabel('Spend limit (USD)');
    expect(await field.inputValue()).toBe('1');
    await field.fill('-1');
    await dialog.getByRole('button', { name: 'Save' }).click();
    expect(await field.evaluate((input: HTMLInputElement) => input.validity.valid)).toBe(false);
    await field.fill('');
    await dialog.getByLabel('Stop automatically after or at').fill('');
    await dialog.getByLabel('Destroy automatically after or at').fill('2d');
    // Nothing measures the load of a machine without a host agent.
    expect(await dialog.getByLabel('Stop when idle for (minutes)').count()).toBe(0);
    await expectSound(page, 'dialog');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^Destroyed, with its disk, /).waitFor();
    await limit.waitFor({ state: 'detached' });
    const settings = `{ instance(id: "${id}") { spendLimit stopAt destroyAt } }`;
    expect(await ask(owner, settings)).toEqual({ spendLimit: null, stopAt: null, destroyAt: expect.any(String) });
    // Undoing restores everything that was changed together.
    await page.getByRole('button', { name: 'Undo' }).last().click();
    await limit.getByText('of 1.00 USD spent').waitFor();
    expect(await ask(owner, settings)).toEqual({ spendLimit: 1, stopAt: expect.any(String), destroyAt: null });
    expect(complaints).toEqual([]);
  });

  it('are reloaded once the page follows events, in case they have just changed', async () => {
    const owner = await renter();
    const { id } = await ask(owner, 'mutation { deployBest(input: { gpus: ["t4"] }) { id } }');
    const context = await here.pages.context(owner);
    let follow: () => void = () => {};
    const mayFollow = new Promise<void>((resolve) => {
      follow = resolve;
    });
    await context.route('**/graphql', async (route) => {
      if (/AccountChanged/.test(route.request().postData() ?? '')) await mayFollow;
      await route.continue();
    });
    const { page } = await here.pages.visit(`/instances/${id}`, context);
    const state = page.getByRole('region', { name: 'State' });
    await state.getByText('Never', { exact: true }).waitFor();
    await ask(owner, `mutation { setSpendLimit(id: "${id}", spendLimit: 2) { id } }`);
    follow();
    await state.getByText('of 2.00 USD spent').waitFor();
  });

  it('create a key with a limit and change a key’s limit', async () => {
    const owner = await renter();
    const { page, complaints } = await open(owner, '/keys');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New API key' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('ci');
    await dialog.getByText('Networks and limit').click();
    await dialog.getByLabel('Limit per UTC month (USD)').fill('3');
    await expectSound(page, 'dialog');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('It is shown only once.').waitFor();
    await dialog.getByRole('button', { name: 'I’ve saved it' }).click();
    const row = page.getByRole('row', { name: /^ci/ });
    await row.getByText('0.00 of 3.00 USD').waitFor();
    await row.getByRole('button', { name: 'Actions for ci' }).click();
    await page.getByRole('menuitem', { name: 'Edit limit: ci' }).click();
    const field = dialog.getByLabel('Limit per UTC month (USD)');
    expect(await field.inputValue()).toBe('3');
    await field.fill('4');
    await expectSound(page, 'dialog');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('0.00 of 4.00 USD').waitFor();
    await expectSoundInLongRun(page);
    const keys = await ask(owner, '{ apiKeys { name monthlyLimit } }');
    expect(keys).toContainEqual({ name: 'ci', monthlyLimit: 4 });
    expect(complaints).toEqual([]);
  });

  it('request confirmation of a new email address and can delete it', async () => {
    const mails = await startMailServer();
    const sender = await startProcess({
      ...here.env,
      TCP_PORTS: '',
      SMTP_URL: mails.url,
      SMTP_TLS: 'offered',
      MAIL_FROM: 'notices@example.com',
    });
    try {
      const owner = await createRenter(here.deps, sender.address, '1');
      const there = new Pages(here.pages.browser, sender.address);
      const { page, complaints } = await there.visit('/notifications', await there.context(owner));
      const mail = page.getByRole('region', { name: 'Email' });
      const dialog = page.getByRole('dialog');
      const actions = mail.getByRole('button', { name: 'Actions for owner@example.com' });
      await mail.getByRole('button', { name: 'Add address' }).click();
      await dialog.getByLabel('Your email address').fill('owner@example.com');
      await dialog.getByRole('button', { name: 'Send confirmation link' }).click();
      await mail.getByText(/sent a confirmation link\. Open it by/).waitFor();
      await expect.poll(() => mails.received.length, PATIENCE).toBe(1);
      await expectSoundInLongRun(page);
      // The linked page doesn't require signing in.
      const asked = await (await there.context(null)).newPage();
      await asked.goto(linkIn(mails.received[0]!));
      await expectSound(asked);
      await asked.getByRole('button', { name: 'Send notices' }).click();
      await asked.getByText('Your address is confirmed').waitFor();
      await page.reload();
      await mail.getByText('active', { exact: true }).waitFor();
      // Each notice is sent by email, but there is no webhook.
      const ofInstances = page.getByRole('row', { name: /^Instances/ });
      const ofMail = ofInstances.getByRole('checkbox');
      expect(await ofMail.isChecked()).toBe(true);
      await ofMail.uncheck();
      await mail.getByText('Email · 5 of 6 notifications').waitFor();
      expect(await ask(owner, '{ mailAddress { events } }')).toMatchObject({
        events: expect.not.arrayContaining(['instance.running']),
      });
      await actions.click();
      await page.getByRole('menuitem', { name: 'Send test email' }).click();
      await expect.poll(() => mails.subjects().at(-1), PATIENCE).toBe('This is a test email');
      await expectSoundInLongRun(page);
      await actions.click();
      await page.getByRole('menuitem', { name: 'Delete address' }).click();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await mail.getByText('Add your address').waitFor();
      expect(complaints).toEqual([]);
      await there.close();
    } finally {
      await sender.end();
      await mails.close();
    }
  });

  it('send a test event to a webhook, show the result and record it in the activity', async () => {
    const owner = await renter();
    const receiver = await startReceiver();
    try {
      const { page, complaints } = await open(owner, '/notifications');
      await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor();
      await page.getByText('This service sends no email').waitFor();
      const dialog = page.getByRole('dialog');
      await page.getByRole('button', { name: 'New webhook' }).click();
      await dialog.getByLabel(/^URL that receives events/).fill(receiver.url);
      await dialog.getByRole('button', { name: 'Create webhook' }).click();
      const secret = await dialog.locator('code.secret').innerText();
      await dialog.getByRole('button', { name: 'I’ve saved it' }).click();
      const webhook = page.getByRole('region', { name: receiver.url });
      const choose = async (menu: string, item: string) => {
        await webhook
          .getByRole('button', { name: `Actions for ${menu}` })
          .first()
          .click();
        await page.getByRole('menuitem', { name: item }).click();
      };
      await webhook.getByText('unused').waitFor();
      await choose(receiver.url, `Send test to ${receiver.url}`);
      await expect.poll(() => receiver.types(), PATIENCE).toEqual(['webhook.test']);
      expect(() => receiver.verify(secret, receiver.received[0]!)).not.toThrow();
      await expect
        .poll(async () => (await ask(owner, '{ webhooks { attempts { status } } }'))[0].attempts, PATIENCE)
        .toEqual([{ status: 200 }]);
      // The result appears without a reload.
      await webhook.getByText('active', { exact: true }).waitFor();
      await webhook.getByText('webhook.test delivered').waitFor();
      await webhook.getByText('Deliveries').click();
      await webhook.getByText('responded 200', { exact: true }).waitFor();
      await choose('webhook.test', 'Show attempts (1)');
      await dialog.getByText('responded 200', { exact: true }).waitFor();
      await expectSound(page, 'dialog');
      await page.keyboard.press('Escape');
      await expectSoundInLongRun(page);
      await choose('webhook.test', 'Send again: webhook.test');
      await expect.poll(() => receiver.types(), PATIENCE).toEqual(['webhook.test', 'webhook.test']);
      // Several choices in a row are all saved, and at least one kind of notice remains.
      const box = (notice: RegExp) => page.getByRole('row', { name: notice }).getByRole('checkbox');
      expect(await box(/^Low balance/).isDisabled()).toBe(true);
      for (const notice of [/^Instances/, /^Upcoming stops/, /^Credit/, /^New network/]) await box(notice).uncheck();
      await webhook.getByText('Webhook · 2 of 6 notifications').waitFor();
      await box(/^Delivery problems/).uncheck();
      await webhook.getByText('Webhook · 1 of 6 notifications').waitFor();
      await box(/^Instances/).check();
      await webhook.getByText('Webhook · 2 of 6 notifications').waitFor();
      await choose(receiver.url, 'Pause');
      await webhook.getByText(/Paused since/).waitFor();
      await choose(receiver.url, `Delete the webhook to ${receiver.url}`);
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page.getByText('No webhooks yet').waitFor();
      for (const name of ['laptop', 'desktop'])
        await ask(owner, `mutation { addSshKey(publicKey: "${newSshKey(name)}") { id } }`);
      await page.goto(`${here.gateway.address}/activity`);
      const rows = page.getByRole('row');
      // Equal changes share a line, which opens to show each.
      await rows.filter({ hasText: '2 SSH keys added' }).getByText('desktop, laptop').waitFor();
      await page.getByRole('button', { name: '2 SSH keys added' }).click();
      await rows.filter({ hasText: 'SSH key added' }).getByText('laptop', { exact: true }).waitFor();
      await page.getByRole('rowheader', { name: 'Today' }).waitFor();
      for (const asked of ['Webhook created', 'Webhook tested', 'Event sent again', 'Webhook changed'])
        await rows.filter({ hasText: asked }).first().waitFor();
      await rows
        .filter({ hasText: 'Webhook deleted' })
        .getByText(/^Console/)
        .waitFor();
      await expectSoundInLongRun(page);
      expect(complaints).toEqual([]);
    } finally {
      await receiver.close();
    }
  });
});
