import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { expectSound, expectSoundInLongRun } from '../support/console/pages.js';
import type { Renter } from '../support/gateway.js';
import { newSshKey } from '../support/ssh-key.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;

const NAMES = ['one', 'two', 'three'];

/** Returns a renter with three instances and their ids by name. */
async function withThree(): Promise<{ owner: Renter; ids: Map<string, string> }> {
  const owner = await here.renter();
  const ids = new Map<string, string>();
  for (const name of NAMES) ids.set(name, await deployed(owner, 'rtx-4090', name));
  return { owner, ids };
}

async function statuses(owner: Renter): Promise<Record<string, string>> {
  const { body } = await owner.graphql('{ instanceHistory(first: 10) { edges { node { name status } } } }');
  return Object.fromEntries(
    body.data.instanceHistory.edges.map(({ node }: { node: { name: string; status: string } }) => [
      node.name,
      node.status,
    ]),
  );
}

const choose = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}` });
const said = (page: Page) => page.getByRole('region', { name: 'Messages' });

describe('lists in the console', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('let a renter stop selected instances by keyboard after seeing the cost', async () => {
    const { owner } = await withThree();
    const rows = (await owner.graphql('{ instances { name priceHr diskPriceHr } }')).body.data.instances as {
      name: string;
      priceHr: number;
      diskPriceHr: number;
    }[];
    const sum = (key: 'priceHr' | 'diskPriceHr') =>
      rows
        .filter(({ name }) => name !== 'two')
        .reduce((total, row) => total + row[key], 0)
        .toFixed(3);
    await here.pages.with('/instances', owner, async ({ page, complaints }) => {
      for (const name of ['one', 'three']) {
        await choose(page, name).focus();
        await page.keyboard.press('Space');
      }
      await page.getByText('2 of 3 selected').waitFor();
      await page.getByRole('button', { name: 'Stop 2 instances' }).focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Stop 2 instances?' });
      await dialog.getByText(`GPU billing stops immediately: ${sum('priceHr')} USD/h less`).waitFor();
      await dialog.getByText(`${sum('diskPriceHr')} USD/h`, { exact: true }).waitFor();
      expect(await dialog.getByRole('listitem').allInnerTexts()).not.toContain('two');
      await expectSound(page, 'dialog');
      for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Tab');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Stop 2 instances');
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
      await said(page).getByText('2 instances stopped. Their disks are kept.').waitFor();
      expect(await statuses(owner)).toEqual({ one: 'STOPPED', two: 'RUNNING', three: 'STOPPED' });
      await page.getByRole('button', { name: 'Add label' }).press('Enter');
      await page.getByLabel('Labels, separated by commas').fill('team=nlp');
      await page.keyboard.press('Enter');
      await said(page).getByText('Labels added to 2 instances.').waitFor();
      await page.getByRole('button', { name: 'Clear selection' }).press('Enter');
      await page.getByRole('combobox', { name: 'Label' }).selectOption('team=nlp (2)');
      await page.getByText('2 of 3 instances').waitFor();
      await expectSoundInLongRun(page);
      expect(complaints).toEqual([]);
    });
  });

  it('report partial failures and let a renter retry safely if a response is lost', async () => {
    const { owner, ids } = await withThree();
    await here.pages.with('/instances', owner, async ({ page }) => {
      await page.getByRole('checkbox', { name: 'Select all' }).check();
      const keys: string[] = [];
      await page.route('**/graphql', async (route) => {
        const { variables = {} } = route.request().postDataJSON();
        if (variables.id !== ids.get('two') || variables.action === undefined) return route.fallback();
        keys.push(variables.idempotencyKey);
        // The first request is lost. The second one is executed, but its response is lost.
        if (keys.length === 2) await route.fetch();
        return route.abort();
      });
      await page.getByRole('button', { name: 'Actions for the selection' }).click();
      await page.getByRole('menuitem', { name: 'Destroy 3 instances' }).click();
      const dialog = page.getByRole('dialog', { name: 'Destroy 3 instances?' });
      await dialog.getByText('erased. This can’t be undone').waitFor();
      await dialog.getByRole('button', { name: 'Destroy 3 instances' }).click();
      await dialog.getByText('1 of 3 failed.').waitFor();
      const two = dialog.getByRole('listitem').filter({ hasText: 'two' });
      await two.getByText('The service isn’t responding').waitFor();
      expect(await dialog.getByText('done', { exact: true }).count()).toBe(2);
      await dialog.getByRole('button', { name: 'Destroy 1 instance' }).click();
      // The account's data shows what was done.
      await dialog.waitFor({ state: 'detached' });
      await page.getByRole('heading', { name: 'No instances' }).waitFor();
      // The button that opened the dialog is gone, so the focus moves to the heading.
      expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1');
      expect(keys).toEqual([keys[0], keys[0]]);
      expect(Object.values(await statuses(owner))).toEqual(['DESTROYED', 'DESTROYED', 'DESTROYED']);
    });
  });

  it("show the month's cost by model and by name, each adding up to the total", async () => {
    const { owner } = await withThree();
    await here.pages.with('/billing', owner, async ({ page, complaints }) => {
      const month = page.getByRole('region', { name: 'Spend' });
      const cells = async (name: string | RegExp) =>
        (await month.getByRole('row', { name }).getByRole('cell').allInnerTexts()).map(Number);
      const { burnPerHour } = (await owner.graphql('{ account { burnPerHour } }')).body.data.account;
      await month.getByRole('row', { name: /^RTX 4090/ }).waitFor();
      expect(await month.getByRole('row').count()).toBe(3);
      for (const name of [/^RTX 4090/, /^Total/]) expect((await cells(name))[0]).toBeCloseTo(burnPerHour, 6);
      const forecast = Number((await page.locator('[data-figure="forecast"]').innerText()).replace(/[^\d.]/g, ''));
      expect(Math.abs((await cells(/^Total/))[2]! - forecast)).toBeLessThanOrEqual(0.02);

      await month.getByRole('button', { name: 'By name' }).press('Enter');
      for (const name of NAMES) await month.getByRole('row', { name: new RegExp(`^${name} `) }).waitFor();
      expect(new URL(page.url()).search).toBe('?by=name');
      const byName = await Promise.all(NAMES.map((name) => cells(new RegExp(`^${name} `))));
      expect(byName.reduce((sum, [rate]) => sum + rate!, 0)).toBeCloseTo(burnPerHour, 6);
      await expectSoundInLongRun(page);
      expect(complaints).toEqual([]);
    });
  });

  it('show each key’s scopes and whether it expires soon or has long been unused', async () => {
    const owner = await here.renter('1');
    const create =
      'mutation ($name: String, $at: String) { createApiKey(name: $name, scopes: [READ, RENT], expiresAt: $at) { secret } }';
    for (const [name, at] of [
      ['laptop', '6d'],
      ['server', '30d'],
      ['forgotten', null],
    ])
      expect((await owner.graphql(create, { name, at })).body.errors).toBe(undefined);
    await here.deps.db.pool.query(
      `update api_key set created_at = now() - interval '91 days' where account_id = $1 and name = 'forgotten'`,
      [owner.accountId],
    );
    await here.pages.with('/keys', owner, async ({ page }) => {
      const row = (name: string) => page.getByRole('row', { name: new RegExp(name) });
      await row('laptop').getByText('expires soon').waitFor();
      await row('laptop').getByText('Read, Rent', { exact: true }).waitFor();
      await row('forgotten')
        .getByTitle(/^Unused for 90 days/)
        .waitFor();
      await row('this session').getByText('Full access').waitFor();
      expect(await page.getByText('expires soon').count()).toBe(1);
      expect(await page.getByText('unused', { exact: true }).count()).toBe(1);
      await expectSoundInLongRun(page);
    });
  });

  it("undo an SSH key's removal only once, by button or keyboard", async () => {
    const owner = await here.renter('1');
    await owner.graphql('mutation ($publicKey: String!) { addSshKey(publicKey: $publicKey) { id } }', {
      publicKey: newSshKey('laptop'),
    });
    const fingerprints = async () =>
      (await owner.graphql('{ sshKeys { fingerprint } }')).body.data.sshKeys.map(
        ({ fingerprint }: { fingerprint: string }) => fingerprint,
      );
    const before = await fingerprints();
    await here.pages.with('/keys', owner, async ({ page, requests }) => {
      const row = page.getByRole('row', { name: /laptop SHA256:/ });
      const remove = async () => {
        await page.getByRole('button', { name: 'Actions for laptop' }).click();
        await page.getByRole('menuitem', { name: 'Remove SSH key laptop' }).click();
      };
      await remove();
      await said(page).getByText('SSH key laptop removed.').waitFor();
      await row.waitFor({ state: 'detached' });
      expect(await fingerprints()).toEqual([]);
      const undo = said(page).getByRole('button', { name: 'Undo' });
      await undo.evaluate((button: HTMLButtonElement) => {
        button.click();
        button.click();
      });
      await said(page).getByText('SSH key restored.').waitFor();
      await row.waitFor();
      expect(await fingerprints()).toEqual(before);
      expect(requests.filter((request) => /mutation AddSshKey/.test(request.postData() ?? ''))).toHaveLength(1);

      await remove();
      await row.waitFor({ state: 'detached' });
      await page.getByRole('heading', { level: 1 }).focus();
      await page.keyboard.press('u');
      await row.waitFor();
      expect(await fingerprints()).toEqual(before);
    });
  });

  it('restore a removed limit, or report why that is refused', async () => {
    const owner = await here.renter('1');
    const limit = async () => (await owner.graphql('{ account { monthlyLimit } }')).body.data.account.monthlyLimit;
    await owner.graphql('mutation { setMonthlyLimit(monthlyLimit: 20) { id } }');
    await here.pages.with('/billing', owner, async ({ page }) => {
      const remove = async () => {
        await page.getByRole('button', { name: 'Edit: Monthly limit' }).click();
        await page.getByLabel('Limit per UTC month (USD)').fill('');
        await page.getByRole('button', { name: 'Save' }).click();
      };
      await remove();
      await said(page).getByText('Limit removed.').waitFor();
      expect(await limit()).toBe(null);
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'What are you looking for?' }).fill('undo');
      await page.keyboard.press('Enter');
      await said(page).getByText('Previous limit restored.').waitFor();
      expect(await limit()).toBe(20);
      await page.getByText('of 20.00 USD spent this month').waitFor();

      await remove();
      const undo = said(page).getByRole('button', { name: 'Undo' });
      await undo.waitFor();
      await page.route('**/graphql', (route) =>
        /setMonthlyLimit/.test(route.request().postData() ?? '')
          ? route.fulfill({ json: { errors: [{ message: 'not now', extensions: { code: 'invalid_request' } }] } })
          : route.fallback(),
      );
      await undo.click();
      await said(page).getByText('Not now.').waitFor();
      expect(await limit()).toBe(null);
    });
  });
});
