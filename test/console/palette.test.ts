import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { expectSound, expectSoundInLongRun, SOON_MS } from '../support/console/pages.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;

const renter = () => here.renter();

const palette = (page: Page) => page.getByRole('dialog', { name: 'Command palette' });
const field = (page: Page) => page.getByRole('combobox', { name: 'What are you looking for?' });
const chosen = (page: Page) => palette(page).getByRole('option', { selected: true });
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const focused = (page: Page) => page.evaluate(() => (document.activeElement as HTMLElement).innerText.trim());

describe('the command palette', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('loads when opened, searches as the user types and works with only the keyboard', async () => {
    const owner = await renter();
    const id = await deployed(owner, 'rtx-4090', 'train-llm');
    await here.pages.with('/', owner, async ({ page, requests, complaints }) => {
      await page.getByRole('link', { name: 'train-llm' }).waitFor();
      const scripts = () => requests.filter((request) => /palette.*\.js/.test(request.url())).length;
      expect(scripts()).toBe(0);
      await page.keyboard.press('Control+k');
      await field(page).waitFor();
      expect(scripts()).toBe(1);
      expect(await chosen(page).innerText()).toContain('train-llm');
      await expectSound(page, 'dialog');

      await page.keyboard.type('bil');
      await expect.poll(() => chosen(page).innerText()).toBe('Billing');
      await page.keyboard.press('Enter');
      await heading(page, 'Billing').waitFor();
      await expect.poll(() => focused(page)).toBe('Billing');
      expect(await palette(page).count()).toBe(0);

      // Finds a model by its common name. The up key moves from the first entry to the last.
      await page.keyboard.press('Control+k');
      await field(page).waitFor();
      await page.keyboard.type('4090');
      await palette(page)
        .getByRole('option', { name: /^NVIDIA GeForce RTX 4090/ })
        .waitFor();
      const names = await palette(page).getByRole('option').allInnerTexts();
      await page.keyboard.press('ArrowUp');
      expect(await chosen(page).innerText()).toBe(names.at(-1));
      await page.keyboard.press('ArrowDown');
      expect(await chosen(page).innerText()).toBe(names[0]);
      await page.keyboard.type(' log');
      await page.keyboard.press('Enter');
      await expect
        .poll(() => new URL(page.url()).pathname + new URL(page.url()).search)
        .toBe(`/instances/${id}?tab=log`);
      await expect.poll(() => focused(page)).toBe('train-llm');

      // Escape and the palette's own key close it and restore the previous focus.
      const link = page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Home' });
      await link.focus();
      for (const key of ['Escape', 'Control+k']) {
        await page.keyboard.press('Control+k');
        await field(page).waitFor();
        await page.keyboard.press(key);
        await palette(page).waitFor({ state: 'detached' });
        expect(await focused(page)).toBe('Home');
      }
      expect(complaints).toEqual([]);
    });
  });

  it('shows the cost in a dialog, then stops an instance and reports the result', async () => {
    const owner = await renter();
    const id = await deployed(owner, 'rtx-4090', 'comfy');
    await here.pages.with('/billing', owner, async ({ page }) => {
      await page.locator('[data-figure="balance"]').waitFor();
      await page.getByRole('button', { name: /^Search/ }).click();
      await field(page).waitFor();
      await page.keyboard.type('stop comfy');
      await palette(page).getByRole('option', { name: 'Stop comfy' }).waitFor();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'Stop comfy?' });
      await dialog.getByText('is kept and costs').waitFor();
      await dialog.getByRole('button', { name: 'Stop', exact: true }).click();
      const done = page.getByRole('region', { name: 'Messages' });
      await done.getByText('comfy stopped. Its disk is kept.').waitFor();
      expect((await owner.rest('GET', `/instances/${id}`)).body.status).toBe('stopped');
      await expectSoundInLongRun(page);
      await done.getByRole('button', { name: /^Dismiss/ }).press('Enter');
      await done.getByText('comfy stopped').waitFor({ state: 'detached' });
      // The dismissed element had the focus, which must move to the screen instead of being lost.
      expect(await focused(page)).toBe('Billing');
    });
  });

  it('shows names chosen by others as plain text', async () => {
    const owner = await renter();
    await deployed(owner, 'rtx-4090', 'x');
    await here.deps.db.pool.query(`update instance set template = $1 where account_id = $2`, [
      '<img src=x onerror="window.pwned=1">\u202e',
      owner.accountId,
    ]);
    await here.pages.with('/', owner, async ({ page }) => {
      await page.getByRole('link', { name: 'x', exact: true }).waitFor();
      await page.keyboard.press('Control+k');
      await field(page).waitFor();
      await page.keyboard.type('<img');
      await chosen(page).waitFor();
      expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
      await page.keyboard.type('nothing of that kind');
      await page.getByText('No results. Try fewer letters').waitFor();
      // Enter has no effect in this state.
      await page.keyboard.press('Enter');
      expect(await palette(page).count()).toBe(1);
    });
  });

  it('navigates by single keys unless the user is typing or has turned that off', async () => {
    const owner = await renter();
    await here.pages.with('/', owner, async ({ page }) => {
      await heading(page, 'Home').waitFor();
      await page.keyboard.press('?');
      const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
      await sheet.getByText('Go to Instances').waitFor();
      await expectSound(page, 'dialog');
      // Nothing else opens on top of a dialog.
      await page.keyboard.press('g');
      await page.keyboard.press('i');
      await page.keyboard.press('Control+k');
      expect(new URL(page.url()).pathname).toBe('/');
      expect(await page.getByRole('dialog').count()).toBe(1);
      await page.keyboard.press('Escape');
      await sheet.waitFor({ state: 'detached' });

      await page.keyboard.press('g');
      await page.keyboard.press('k');
      await heading(page, 'Keys').waitFor();
      await page.getByRole('button', { name: 'New API key' }).click();
      const name = page.getByRole('dialog').getByLabel('Name', { exact: true });
      await name.pressSequentially('gi?');
      expect(await name.inputValue()).toBe('gi?');
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
      await heading(page, 'Keys').focus();
      await page.keyboard.press('/');
      await field(page).waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('g');
      await page.keyboard.press('m');
      await heading(page, 'Machines').waitFor();
      await page.getByRole('searchbox').first().waitFor();
      await page.keyboard.press('/');
      expect(await page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('search');

      await heading(page, 'Machines').focus();
      await page.keyboard.press('?');
      await sheet.getByLabel('Use single-key shortcuts in this browser').uncheck();
      await page.keyboard.press('Escape');
      await page.reload();
      await heading(page, 'Machines').focus();
      await page.keyboard.press('g');
      await page.keyboard.press('h');
      await page.keyboard.press('?');
      await page.keyboard.press('Control+k');
      await field(page).waitFor();
      expect(new URL(page.url()).pathname).toBe('/machines');
      expect(await sheet.count()).toBe(0);
    });
  });

  it('offers visitors only the actions that they can use', () =>
    here.pages.with('/machines', null, async ({ page }) => {
      await heading(page, 'Machines').waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('i');
      await page.keyboard.press('Control+k');
      await field(page).waitFor();
      expect(new URL(page.url()).pathname).toBe('/machines');
      const names = await palette(page).getByRole('option').allInnerTexts();
      expect(names).toContain('Sign in');
      expect(names.join()).not.toMatch(/Billing|Sign out|SSH/);
      await page.keyboard.type('sign in');
      await page.keyboard.press('Enter');
      await expect.poll(() => new URL(page.url()).pathname, { timeout: SOON_MS }).toBe('/sign-in');
    }));
});
