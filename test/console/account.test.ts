import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { heading } from '../support/console/pages.js';
import { newSshKey } from '../support/ssh-key.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;

const renter = (creditUsd?: string) => here.renter(creditUsd);

describe('the account pages in Chromium', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('create an unnamed account, show its key once and sign in with it', () =>
    here.pages.with('/sign-in', null, async ({ page }) => {
      await page.getByRole('button', { name: 'Create account' }).click();
      const secret = await page.locator('.secret').innerText();
      expect(secret).toMatch(/^gpu_live_[0-9a-f]{40}$/);
      expect(await page.getByRole('button', { name: 'Sign in with this key' }).isDisabled()).toBe(true);
      await page.getByLabel('I’ve saved it in a safe place').check();
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download' }).click();
      const file = await (await saved).createReadStream();
      expect(Buffer.concat(await file.toArray()).toString()).toBe(`${here.gateway.address}\nGPU_API_KEY=${secret}\n`);
      await page.getByRole('button', { name: 'Sign in with this key' }).click();
      await page.getByRole('heading', { name: 'Choose a GPU to get started' }).waitFor();
      expect(await page.content()).not.toContain(secret);
    }));

  it('accept a key at sign-in without storing it anywhere', async () => {
    const owner = await renter();
    await here.pages.with('/billing', null, async ({ page, requests }) => {
      await page.getByLabel('API key').fill('gpu_live_wrong');
      await page.keyboard.press('Enter');
      await page.getByText('This key isn’t valid').waitFor();
      // The line of an .env file is accepted too.
      await page.getByLabel('API key').fill(` GPU_API_KEY="${owner.key}" `);
      await page.getByRole('button', { name: 'Show key' }).click();
      expect(await page.getByLabel('API key').getAttribute('type')).toBe('text');
      await page.getByLabel('API key').press('Enter');
      await heading(page, 'Billing').waitFor();
      await page.locator('[data-figure="balance"]').waitFor();

      const secret = owner.key.slice('gpu_live_'.length);
      expect(JSON.stringify(await page.context().storageState())).not.toContain(secret);
      expect(
        await page.evaluate(() =>
          JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href]),
        ),
      ).not.toContain(secret);
      expect(await page.content()).not.toContain(secret);
      expect(requests.filter((request) => request.url().includes(secret))).toEqual([]);
      expect(requests.filter((request) => request.postData()?.includes(secret))).toHaveLength(1);
      expect(here.gateway.stderr()).not.toContain(secret);
      const [cookie] = await page.context().cookies();
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });

      await page.getByRole('button', { name: 'Sign out' }).click();
      await heading(page, 'Sign in').waitFor();
      await page.locator('.status-line').getByText('Signed out').waitFor();
      expect(await page.context().cookies()).toEqual([]);
    });
  });

  it("keep a visitor's form input through sign-in and stay on the same origin", async () => {
    const owner = await renter();
    await here.pages.with('/machines?gpu=l40s&deploy=best', null, async ({ page }) => {
      await page.getByRole('radio', { name: /^ComfyUI/ }).click();
      await page.getByRole('link', { name: 'Sign in to deploy' }).click();
      await page.getByLabel('API key').fill(owner.key);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: /^Deploy for/ }).waitFor();
      expect(await page.getByRole('radio', { name: /^ComfyUI/ }).isChecked()).toBe(true);
      expect(
        await page
          .getByRole('navigation')
          .getByRole('link', { name: 'Machines', exact: true })
          .getAttribute('aria-current'),
      ).toBe('page');
      for (const then of ['//elsewhere.test/keys', '/..//elsewhere.test/keys', 'http://[']) {
        await page.goto(`${here.gateway.address}/sign-in?then=${encodeURIComponent(then)}`);
        await heading(page, 'Home').waitFor();
        expect(page.url()).toBe(`${here.gateway.address}/`);
      }
      expect((await page.goto(`${here.gateway.address}/nowhere`))?.status()).toBe(404);
      await heading(page, 'Page not found').waitFor();
      await page.goto(`${here.gateway.address}/billing/elsewhere`);
      await heading(page, 'Page not found').waitFor();
    });
  });

  it("sign out and explain why when the session's key is revoked", async () => {
    const owner = await renter();
    await here.pages.with('/instances', owner, async ({ page }) => {
      await page.getByRole('heading', { name: 'No instances' }).waitFor();
      const { body } = await owner.graphql('{ apiKeys { id isCurrent } }');
      const { id } = body.data.apiKeys.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
      await owner.graphql('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id });
      await page.getByText('You are signed out').waitFor();
      await heading(page, 'Sign in').waitFor();
    });
  });

  it('warn before the session’s own key is revoked and show new keys only once', async () => {
    const owner = await renter();
    await here.pages.with('/keys', owner, async ({ page }) => {
      await page.getByRole('button', { name: 'New API key' }).click();
      await page.getByLabel('Name').fill('laptop');
      await page.getByRole('button', { name: 'Create key' }).click();
      const secret = await page.locator('.secret').innerText();
      expect(secret).toMatch(/^gpu_live_[0-9a-f]{40}$/);
      await page.getByRole('button', { name: 'I’ve saved it' }).click();
      await page.getByRole('row', { name: /laptop/ }).waitFor();
      expect(await page.content()).not.toContain(secret);
      await page
        .getByRole('row', { name: /this session/ })
        .getByRole('button', { name: /^Actions for/ })
        .click();
      await page.getByRole('menuitem', { name: /^Revoke/ }).click();
      await page.getByText('so you will be signed out').waitFor();
      await page.getByRole('button', { name: 'Revoke', exact: true }).click();
      await heading(page, 'Sign in').waitFor();
    });
  });

  it('add and remove SSH keys, and explain why an invalid one is rejected', async () => {
    const owner = await renter();
    await here.pages.with('/keys', owner, async ({ page }) => {
      await page.getByRole('heading', { name: 'No SSH keys yet' }).waitFor();
      await page.getByRole('button', { name: 'New SSH key' }).click();
      const dialog = page.getByRole('dialog', { name: 'New SSH key' });
      const field = dialog.getByLabel('Public key');
      await field.fill('ssh-ed25519 AAAA');
      await dialog.getByRole('button', { name: 'Add', exact: true }).click();
      await dialog.getByRole('alert').waitFor();
      await field.fill(newSshKey('laptop'));
      await dialog.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('row', { name: /laptop SHA256:/ }).waitFor();
      await page.getByRole('button', { name: 'Actions for laptop' }).click();
      await page.getByRole('menuitem', { name: 'Remove SSH key laptop' }).click();
      await page.getByRole('heading', { name: 'No SSH keys yet' }).waitFor();
    });
  });
});
