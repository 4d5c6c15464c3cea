import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeyPair, OPEN_SSH, run, SshClient } from '../support/access/ssh.js';
import { WebFleet } from '../support/access/web-fleet.js';
import { openChromium } from '../support/chromium.js';
import { beyondWindow, faultsIn, Pages, SOON_MS } from '../support/console/pages.js';
import { freePort } from '../support/free-port.js';
import { needsEngine } from '../support/hosts/engines.js';

describe('an instance in a real container, in the console', needsEngine('podman', 'chromium', ...OPEN_SSH), () => {
  let web: WebFleet;
  let browser: Browser;
  let pages: Pages;
  let sshPort: number;

  beforeAll(async () => {
    sshPort = await freePort();
    [web, browser] = await Promise.all([WebFleet.open({ SSH_PORT: String(sshPort) }), openChromium()]);
    pages = new Pages(browser, web.fleet.address);
  });
  afterAll(async () => {
    await pages?.close();
    await browser?.close();
    await web?.close();
  });

  const screen = () => `/instances/${web.instanceId}`;

  it('is reached by the command for a shell that it shows, with a key that was added there', async () => {
    const key = new KeyPair();
    await pages.with('/keys', web.renter, async ({ page, complaints }) => {
      await page.getByLabel('Public key, the line of a .pub file').fill(key.publicKey);
      await page.getByRole('button', { name: 'Add the SSH key' }).click();
      await page.getByRole('row', { name: /renter@test ssh-ed25519/ }).waitFor();
      await page.goto(pages.address + screen());
      await page.getByText('container runs', { exact: true }).waitFor();
      const [program, ...rest] = (await page.locator('code.secret').first().innerText()).split(' ');
      expect(program).toBe('ssh');
      const hostKey = (await web.ask(`{ instance(id: "${web.instanceId}") { ssh { hostKey } } }`)).instance.ssh.hostKey;
      const { options } = new SshClient(sshPort, key, hostKey);
      // Names below localhost are this machine's for a browser, not for every resolver.
      const here = ['-o', 'HostName=127.0.0.1'];
      expect(await run('ssh', [...options, ...here, ...rest, 'echo from inside'])).toEqual({
        code: 0,
        stdout: 'from inside\n',
        stderr: '',
      });
      expect(complaints).toEqual([]);
    });
  });

  it('opens its web port in a tab of its own, signed in there and nowhere else', () =>
    pages.with(screen(), web.renter, async ({ page }) => {
      const opened = page.context().waitForEvent('page');
      await openPort(page, 8080).click();
      const tab = await opened;
      tab.setDefaultTimeout(SOON_MS);
      await tab.getByRole('heading', { name: 'from inside' }).waitFor();
      expect(new URL(tab.url()).hostname).toBe(web.hostOf());
      expect(new URL(tab.url()).search).toBe('');
      expect(await tab.evaluate(() => window.opener)).toBeNull();
      // What is served inside is sent no cookie of the console.
      await tab.waitForFunction(() => document.title === 'cookie: none');
      expect(new URL(page.url()).pathname).toBe(screen());
    }));

  it('is sound to axe, and fits a narrow window', async () => {
    for (const scheme of ['light', 'dark'] as const) {
      await pages.with(
        screen(),
        web.renter,
        async ({ page }) => {
          await openPort(page, 8080).waitFor();
          expect(await faultsIn(page)).toEqual([]);
          expect(await beyondWindow(page)).toBeLessThanOrEqual(0);
        },
        { scheme, width: 320 },
      );
    }
  });
});

const openPort = (page: Page, port: number) =>
  page.locator('.port', { hasText: `Port ${port}` }).getByRole('button', { name: 'Open in a new tab' });
