import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeyPair, OPEN_SSH, run, SshClient } from '../support/access/ssh.js';
import { WebFleet } from '../support/access/web-fleet.js';
import { sharedChromium } from '../support/chromium.js';
import { beyondWindow, expectSound, expectSoundInLongRun, Pages, SOON_MS } from '../support/console/pages.js';
import { enter, PROMPT, waitForText } from '../support/console/terminal-screen.js';
import { freePort } from '../support/free-port.js';
import { needsEngine } from '../support/hosts/engines.js';
import { until } from '../support/until.js';

/** Numbers of clicks and keystrokes since the page was opened. */
interface Counts {
  clicks: number;
  keys: number;
}

/**
 * A renter's tour of everything that needs a container, on one host. Each part is fully tested in test/long/console,
 * and without a browser in test/hosts/access.
 */
describe('an instance that runs a real container', needsEngine('podman', 'chromium', ...OPEN_SSH), () => {
  let web: WebFleet;
  let pages: Pages;
  let sshPort: number;

  beforeAll(async () => {
    sshPort = await freePort();
    web = await WebFleet.open({ SSH_PORT: String(sshPort) });
    pages = new Pages(await sharedChromium(), web.fleet.address);
    await inside('mkdir -p /workspace');
  });
  afterAll(async () => {
    await pages?.close();
    await web?.close();
  });

  const screen = (query = '') => `/instances/${web.instanceId}${query}`;

  async function inside(command: string): Promise<string> {
    const { code, text } = await web.fleet.engine.exec(web.instanceId, '/bin/sh', '-c', command);
    if (code !== 0) throw new Error(`${command}: ${code}: ${text}`);
    return text;
  }

  it('can be reached by SSH with the displayed command and a key added on the page', async () => {
    const key = new KeyPair();
    await pages.with('/keys', web.renter, async ({ page, complaints }) => {
      await page.getByRole('button', { name: 'New SSH key' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Public key').fill(key.publicKey);
      await dialog.locator('button[type="submit"]').click();
      await page.getByRole('row', { name: /renter@test SHA256:/ }).waitFor();
      await page.goto(pages.address + screen());
      await page.getByText('running', { exact: true }).waitFor();
      const [program, ...rest] = (await page.locator('code.command').innerText()).split(' ');
      expect(program).toBe('ssh');
      const hostKey = (await web.query(`{ instance(id: "${web.instanceId}") { ssh { hostKey } } }`)).instance.ssh
        .hostKey;
      const { options } = new SshClient(sshPort, key, hostKey);
      // Browsers resolve names under localhost to this machine, but not every resolver does.
      const here = ['-o', 'HostName=127.0.0.1'];
      expect(await run('ssh', [...options, ...here, ...rest, 'echo from inside'])).toEqual({
        code: 0,
        stdout: 'from inside\n',
        stderr: '',
      });
      expect(complaints).toEqual([]);
    });
  });

  it('opens its web port in a new tab that is signed in only to that port', () =>
    pages.with(screen(), web.renter, async ({ page }) => {
      const port = page.locator('.port', { hasText: 'Port 8080' }).getByRole('button', { name: 'Open in new tab' });
      await page.getByText('Ports and passwords').click();
      await port.waitFor();
      await expectSoundInLongRun(page);
      const opened = page.context().waitForEvent('page');
      await port.click();
      const tab = await opened;
      tab.setDefaultTimeout(SOON_MS);
      await tab.getByRole('heading', { name: 'from inside' }).waitFor();
      expect(new URL(tab.url()).hostname).toBe(web.hostOf());
      expect(new URL(tab.url()).search).toBe('');
      expect(await tab.evaluate(() => window.opener)).toBeNull();
      // The server inside doesn't receive any cookie of the console.
      await tab.waitForFunction(() => document.title === 'cookie: none');
      // A link on another site lands on a page of the instance's own host first, which its server sees as its own site.
      const echo = `${new URL(tab.url()).origin}/echo`;
      await tab.goto(pages.address);
      await tab.evaluate((address) => location.assign(address), echo);
      await tab.getByText('"sec-fetch-site":"same-origin"').waitFor();
      expect(tab.url()).toBe(echo);
      expect(new URL(page.url()).pathname).toBe(screen());
    }));

  it('opens its first service and its terminal from the list', async () => {
    const names = `update container set port_names = '{"8080": "Board"}' where instance_id = $1`;
    await web.second.deps.db.pool.query(names, [web.instanceId]);
    await pages.with('/instances', web.renter, async ({ page, complaints }) => {
      const opened = page.context().waitForEvent('page');
      await page.getByRole('button', { name: `Open Board: ${web.instanceId}` }).click();
      const tab = await opened;
      tab.setDefaultTimeout(SOON_MS);
      await tab.getByRole('heading', { name: 'from inside' }).waitFor();
      expect(new URL(tab.url()).hostname).toBe(web.hostOf());
      await page.getByRole('link', { name: `Terminal: ${web.instanceId}` }).click();
      await waitForText(page, PROMPT);
      expect(complaints).toEqual([]);
    });
  });

  it('has a terminal that survives a reload and shows output as text', () =>
    pages.with(screen('?tab=terminal'), web.renter, async ({ page, complaints }) => {
      await waitForText(page, PROMPT);
      // It fills the window, and the whole screen on request.
      const height = () => page.locator('.terminals').evaluate((panel) => panel.getBoundingClientRect().height);
      expect(await height()).toBeGreaterThan(600);
      await page.keyboard.press('Control+Shift+F11');
      await page.getByRole('button', { name: 'Full screen', pressed: true }).waitFor();
      expect(await height()).toBe(900);
      await page.keyboard.press('Control+Shift+F11');
      await page.getByRole('button', { name: 'Full screen', pressed: false }).waitFor();
      await enter(page, 'mine=ke""pt; printf "\\033[38;2;200;30;30mred\\033[0m\\n"');
      await waitForText(page, '\nred');
      // 24-bit colours become styles, which the policy permits only if they are set through objects.
      const red = page.locator('.xterm-rows span', { hasText: /^red$/ });
      expect(await red.getAttribute('style')).toMatch(/color: ?(#|rgb)/);
      const title = '<img src=x onerror="window.pwned=1">\u202eevil';
      await page.keyboard.insertText(`printf '\\033]0;${title}\\007'`);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: /Terminal 1 <img src=x onerror="window\.pwned=1">\\u202eevil/ }).waitFor();
      await page.reload();
      await waitForText(page, '\nred');
      // An image doesn't have to contain `clear`.
      await enter(page, 'printf "\\033[H\\033[2J"; echo $mine');
      await waitForText(page, /^kept\n/);
      expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
      await enter(page, 'exit 3');
      await page.getByText('The shell has ended with code 3.').waitFor();
      expect(complaints).toEqual([]);
      const headers = { origin: pages.address };
      expect((await page.request.delete(`${pages.address}/console/session`, { headers })).status()).toBe(204);
      await page.getByText('You are signed out').first().waitFor();
      expect(await page.evaluate(() => JSON.stringify(sessionStorage))).toBe('{}');
    }));

  it("has the keys that a phone's keyboard lacks", () =>
    pages.with(
      screen('?tab=terminal'),
      web.renter,
      async ({ page }) => {
        // The shell's own empty lines don't take the little space.
        await waitForText(page, /^\S.*[#$] ?$/s);
        const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
        await enter(page, 'echo twi""ce');
        await waitForText(page, '\ntwice\n');
        await press('Arrow up');
        await page.keyboard.press('Enter');
        await waitForText(page, /\ntwice\n.*\ntwice\n/s);
        await enter(page, 'sleep 600');
        await press('Ctrl');
        await page.keyboard.type('c');
        await waitForText(page, /\^C\n.*[#$] ?$/);
        await enter(page, 'sleep 601');
        await press('Ctrl+C, interrupt');
        await waitForText(page, /sleep 601\n\^C\n.*[#$] ?$/);
        // Ctrl applies to one key only.
        await page.keyboard.type('ls -d /workspa');
        await press('Tab');
        await waitForText(page, /ls -d \/workspace\/?$/);
        expect(await beyondWindow(page)).toBeLessThanOrEqual(0);
      },
      { width: 390 },
    ));

  it('shows, downloads and uploads files regardless of their names', () =>
    pages.with(screen('?tab=files'), web.renter, async ({ page, complaints }) => {
      await page.getByText('This folder is empty').waitFor();
      const [name] = ['a b&<img src=x onerror=alert(1)>\u202etxt'];
      await page
        .getByLabel('Files to upload')
        .setInputFiles([{ name: 'small.txt', mimeType: 'text/plain', buffer: Buffer.from('from outside') }]);
      await page.locator('.uploads li', { hasText: 'small.txt' }).getByText('Done').waitFor();
      expect(await inside('cat /workspace/small.txt')).toContain('from outside');
      await inside(`echo hidden > '/workspace/${name}'`);
      await page.getByRole('button', { name: 'Refresh' }).click();
      const shown = 'a b&<img src=x onerror=alert(1)>\\u202etxt';
      const begun = page.waitForEvent('download');
      await page.getByRole('link', { name: shown, exact: true }).click();
      expect(String(await (await (await begun).createReadStream()).toArray())).toBe('hidden\n');
      await expectSound(page);
      // The filter is part of the URL.
      await page.getByLabel('Filter by name').fill('SMALL');
      await page.getByRole('link', { name: shown, exact: true }).waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'small.txt', exact: true }).waitFor();
      expect(new URL(page.url()).searchParams.get('find')).toBe('SMALL');
      await page.getByLabel('Filter by name').fill('');
      await page.getByRole('button', { name: `Actions for ${shown}` }).click();
      await page.getByRole('menuitem', { name: `Delete ${shown}` }).click();
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('link', { name: shown, exact: true }).waitFor({ state: 'detached' });
      await until('it is deleted', async () => !(await inside('ls /workspace')).includes('img'), SOON_MS);
      expect(complaints).toEqual([]);
    }));

  it('streams its log as text, with errors marked, until the log is closed', () =>
    pages.with(screen(), web.renter, async ({ page }) => {
      await page.getByRole('link', { name: 'Log', exact: true }).click();
      const log = page.locator('.log');
      await log.getByText('listens').waitFor();
      const say = (query: string) => sayInside(page, query);
      await say(`out=${encodeURIComponent('<b>first</b> \u001b[31mred\u001b[0m \u202eturned')}`);
      await log.getByText('<b>first</b> red \\u202eturned').waitFor();
      await say('err=second');
      // An error isn't marked only by its colour.
      await log.locator('.log-line', { hasText: 'second' }).getByText('err', { exact: true }).waitFor();
      await page.getByLabel('Search the log').fill('SECOND');
      await page.getByText('1 found').waitFor();
      const ended = page.waitForEvent('requestfailed', (request) => /InstanceLogged/.test(request.postData() ?? ''));
      await page.getByRole('link', { name: 'Overview', exact: true }).click();
      await ended;
    }));

  it('takes at most 6 clicks and no typing from the first screen to the prompt of a shell', async () => {
    // The default template's own image isn't available without the internet.
    await web.fleet.template('pytorch', `${web.fleet.registry.at}/busybox`);
    await web.fleet.host();
    await pages.with('/', web.renter, async ({ page, complaints }) => {
      const machines = page.locator('nav a[href="/machines"]');
      await machines.waitFor();
      await page.evaluate(() => {
        const counts = { clicks: 0, keys: 0 };
        addEventListener('pointerdown', () => (counts.clicks += 1), true);
        addEventListener('keydown', () => (counts.keys += 1), true);
        Object.assign(window, { counts });
      });
      const start = performance.now();
      await machines.click();
      await page
        .locator('.offer')
        .first()
        .getByRole('link', { name: /^Deploy/ })
        .click();
      await page.getByRole('button', { name: /^Deploy for/ }).click();
      await waitForText(page, PROMPT);
      const seconds = ((performance.now() - start) / 1_000).toFixed(1);
      const { clicks, keys } = await page.evaluate(() => (window as unknown as { counts: Counts }).counts);
      console.info(`first prompt after ${clicks} clicks, ${keys} keys and ${seconds} s`);
      expect(clicks).toBeLessThanOrEqual(6);
      expect(keys).toBe(0);
      expect(complaints).toEqual([]);
    });
  });

  async function sayInside(page: Page, query: string): Promise<void> {
    const link = await web.link(web.renter, 8080, `/log?${query}`);
    const tab = await page.context().newPage();
    await tab.goto(link.href);
    await tab.close();
  }
});
