import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { heading } from '../support/console/pages.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;

/** Opens a screen at localhost, because browsers don't offer passkeys at IP addresses. */
async function open(page: Page, path: string): Promise<void> {
  const url = new URL(path, here.gateway.address);
  url.hostname = 'localhost';
  await page.goto(url.href);
}

/** Adds an authenticator whose user is verified. */
async function authenticator(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2' as const,
    transport: 'internal' as const,
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  };
  return { cdp, ...(await cdp.send('WebAuthn.addVirtualAuthenticator', { options })) };
}

describe('passkeys in Chromium', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('are added with a key, sign in, and are rejected once revoked', async () => {
    const owner = await here.renter();
    await here.pages.with('/sign-in', null, async ({ page }) => {
      await open(page, '/keys');
      const { cdp, authenticatorId } = await authenticator(page);
      await page.getByLabel('API key').fill(owner.key);
      await page.keyboard.press('Enter');
      await heading(page, 'Keys').waitFor();

      const add = page.getByRole('button', { name: 'New passkey' });
      const name = page.getByLabel('Name', { exact: true }).last();
      const create = page.getByRole('button', { name: 'Create passkey' });
      await add.click();
      await name.fill('Work laptop');
      await create.click();
      await page.getByText('Passkey Work laptop added.').waitFor();
      const row = page.getByRole('row', { name: /Work laptop/ });
      await row.getByText('Never used').waitFor();
      const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
      expect(credentials).toMatchObject([{ isResidentCredential: true, rpId: 'localhost' }]);

      await add.click();
      await name.fill('Again');
      await create.click();
      await page.getByText('This device already has a passkey for this API key.').waitFor();
      await page.getByRole('button', { name: 'Cancel' }).click();

      const signIn = page.getByRole('button', { name: 'Sign in with a passkey' });
      await page.getByRole('button', { name: 'Sign out' }).click();
      await signIn.click();
      await row.getByText('this session').waitFor();
      // A session opened with a passkey can't add another one.
      expect(await add.count()).toBe(0);

      await row.getByRole('button', { name: 'Actions for Work laptop' }).click();
      await page.getByRole('menuitem', { name: 'Revoke' }).click();
      await page.getByText('so you will be signed out').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await signIn.click();
      await page.getByText('This passkey isn’t valid').waitFor();

      await cdp.send('WebAuthn.clearCredentials', { authenticatorId });
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
      await signIn.click();
      await page.getByText('You didn’t choose a passkey in time').waitFor();
    });
  });

  it('are not offered at an IP address', async () => {
    const owner = await here.renter();
    await here.pages.with('/keys', null, async ({ page }) => {
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      expect(await page.getByRole('button', { name: 'Sign in with a passkey' }).count()).toBe(0);
      await page.getByLabel('API key').fill(owner.key);
      await page.keyboard.press('Enter');
      await page.getByText('No SSH keys yet').waitFor();
      expect(await page.getByText(/passkey/i).count()).toBe(0);
    });
  });
});
