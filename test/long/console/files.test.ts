import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebFleet } from '../../support/access/web-fleet.js';
import { sharedChromium } from '../../support/chromium.js';
import { beyondWindow, faultsIn, Pages, SOON_MS } from '../../support/console/pages.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { folder } from '../../support/process.js';

const LARGE_BYTES = 200_000_000;
const LONG = { timeout: 180_000 };

describe("a real container's file and log pages", needsEngine('podman', 'chromium'), () => {
  let web: WebFleet;
  let browser: Browser;
  let pages: Pages;

  beforeAll(async () => {
    [web, browser] = await Promise.all([WebFleet.open(), sharedChromium()]);
    pages = new Pages(browser, web.fleet.address);
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

  it('transfer 200 MB each way unchanged', () =>
    pages.with(
      screen(),
      web.renter,
      async ({ page, complaints }) => {
        const { path, digest } = await largeFile();
        await page.getByRole('link', { name: 'Files', exact: true }).click();
        await page.getByText('This folder is empty').waitFor();
        await page.getByLabel('Files to upload').setInputFiles(path);
        await uploadOf(page, 'large.bin').getByText('Done').waitFor(LONG);
        expect(await inside('sha256sum < /workspace/large.bin')).toContain(digest);
        const row = page.getByRole('row', { name: /large\.bin/ });
        await row.getByText('200.0 MB').waitFor();
        const begun = page.waitForEvent('download');
        await row.getByRole('link', { name: 'large.bin', exact: true }).click();
        const download = await begun;
        expect(download.suggestedFilename()).toBe('large.bin');
        expect(await digestOf(await download.path())).toBe(digest);
        expect(complaints).toEqual([]);
      },
      {},
    ));

  it('show, create and delete folders, each with a URL for the back button', () =>
    pages.with(screen('?tab=files'), web.renter, async ({ page }) => {
      await page.getByRole('button', { name: 'New folder' }).click();
      await page.getByLabel('Name', { exact: true }).fill('a folder & more');
      await page.getByRole('button', { name: 'Create folder' }).click();
      await page.getByRole('link', { name: 'a folder & more' }).click();
      await page.getByText('This folder is empty').waitFor();
      expect(new URL(page.url()).searchParams.get('path')).toBe('/workspace/a%20folder%20%26%20more');
      await inside(`cd '/workspace/a folder & more' && for n in 9 10; do echo $n > part-$n; done && mkdir z-folder`);
      await page.getByRole('button', { name: 'Refresh' }).click();
      await page.getByRole('link', { name: 'part-10', exact: true }).waitFor();
      expect(await names(page)).toEqual(['z-folder', 'part-9', 'part-10']);
      await page.getByRole('button', { name: 'Size' }).click();
      await page.getByRole('button', { name: 'Size' }).click();
      expect(await names(page)).toEqual(['z-folder', 'part-10', 'part-9']);
      await page.reload();
      await choose(page, 'Delete', 'part-10');
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('link', { name: 'part-10', exact: true }).waitFor({ state: 'detached' });
      await page.getByRole('link', { name: 'workspace', exact: true }).first().click();
      await choose(page, 'Delete', 'a folder & more');
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText('folder is not empty').waitFor();
      await page.getByRole('button', { name: 'Keep it' }).click();
      expect(await inside('cat "/workspace/a folder & more/part-9"')).toContain('9');
    }));

  it('show hostile names as plain text and can open those files', () =>
    pages.with(screen('?tab=files'), web.renter, async ({ page, complaints }) => {
      await inside(`mkdir -p /workspace/hostile && cd /workspace/hostile &&
        echo 1 > '<img src=x onerror=alert(1)>' && echo 2 > "$(printf 'a\\342\\200\\256fdp.exe')" &&
        echo 3 > "$(printf 'esc\\033[31m')" && echo 4 > "$(printf 'bytes\\377\\376')"`);
      await page.goto(pages.address + screen('?tab=files&path=%2Fworkspace%2Fhostile'));
      await page.getByText('<img src=x onerror=alert(1)>').waitFor();
      const shown = (await names(page)).sort();
      expect(shown).toEqual(['<img src=x onerror=alert(1)>', 'a\\u202efdp.exe', 'bytes��', 'esc\\u001b[31m']);
      const begun = page.waitForEvent('download');
      await page.getByRole('link', { name: 'bytes��', exact: true }).click();
      expect(await (await (await begun).createReadStream()).toArray().then(String)).toBe('4\n');
      await choose(page, 'Delete', 'a\\u202efdp.exe');
      await page.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByRole('link', { name: 'a\\u202efdp.exe', exact: true }).waitFor({ state: 'detached' });
      expect(complaints).toEqual([]);
    }));

  it('accept dropped files, ask before replacing any and leave nothing if cancelled', () =>
    pages.with(screen('?tab=files'), web.renter, async ({ page }) => {
      await inside('mkdir -p /workspace/drop && echo old > /workspace/drop/two.txt');
      await page.goto(pages.address + screen('?tab=files&path=%2Fworkspace%2Fdrop'));
      await page.getByRole('link', { name: 'two.txt', exact: true }).waitFor();
      const dropped = await page.evaluateHandle(() => {
        const data = new DataTransfer();
        for (const name of ['one.txt', 'two.txt']) data.items.add(new File([`new ${name}`], name));
        return data;
      });
      await page.getByRole('region', { name: 'Files' }).dispatchEvent('drop', { dataTransfer: dropped });
      await uploadOf(page, 'one.txt').getByText('Done').waitFor();
      await page.getByRole('link', { name: 'one.txt', exact: true }).waitFor();
      await uploadOf(page, 'two.txt').getByText('A file with this name already exists').waitFor();
      expect(await inside('cat /workspace/drop/two.txt')).toContain('old');
      await page.getByRole('button', { name: 'Replace two.txt' }).click();
      await uploadOf(page, 'two.txt').getByText('Done').waitFor();
      expect(await inside('cat /workspace/drop/two.txt')).toContain('new two.txt');

      // The connection is slow, so the upload would take long.
      const line = await page.context().newCDPSession(page);
      await line.send('Network.enable');
      const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 2_000_000 };
      await line.send('Network.emulateNetworkConditions', slow);
      const { path } = await largeFile();
      await page.getByLabel('Files to upload').setInputFiles(path);
      await uploadOf(page, 'large.bin').getByRole('progressbar').waitFor();
      await expect.poll(() => inside('ls -A /workspace/drop'), { timeout: SOON_MS }).toContain('.gpu-upload-');
      await page.getByRole('button', { name: 'Cancel large.bin' }).click();
      await uploadOf(page, 'large.bin').waitFor({ state: 'detached' });
      await expect.poll(() => inside('ls -A /workspace/drop'), { timeout: SOON_MS }).not.toContain('.gpu-upload-');
      expect(await inside('ls /workspace/drop')).not.toContain('large');
    }));

  it('stream the log as text from the moment it is opened, and mark errors', () =>
    pages.with(screen(), web.renter, async ({ page, requests }) => {
      const follows = () => requests.filter((request) => /InstanceLogged/.test(request.postData() ?? ''));
      const say = (query: string) => sayInside(page, query);
      await page.getByRole('link', { name: 'Log', exact: true }).click();
      const log = page.locator('.log');
      await log.getByText('listens').waitFor();
      await say(`out=${encodeURIComponent('<b>first</b> \u001b[31mred\u001b[0m \u202eturned')}`);
      await log.getByText('<b>first</b> red \\u202eturned').waitFor();
      await say(`out=${encodeURIComponent(' 10 %\r 20 %')}`);
      await log.getByText('20 %').waitFor();
      expect(await log.innerText()).not.toContain('10 %');
      await say('err=second');
      const line = log.locator('.log-line', { hasText: 'second' });
      // An error isn't marked only by its colour.
      await line.getByText('err', { exact: true }).waitFor();
      expect(await line.locator('time').count()).toBe(0);
      await page.getByRole('button', { name: 'Times (UTC)' }).click();
      await line.locator('time').waitFor();
      const wraps = () => log.evaluate((element) => getComputedStyle(element).whiteSpace);
      expect(await wraps()).toBe('pre-wrap');
      await page.getByRole('button', { name: 'Wrap' }).click();
      expect(await wraps()).toBe('pre');
      // The key and the button show each error, newest first.
      await say(`out=${encodeURIComponent('ERROR: early')}`);
      await say(`out=${encodeURIComponent('ERROR: late')}`);
      for (const shown of ['ERROR: late', 'ERROR: early', 'ERROR: late']) {
        await page.getByRole('button', { name: 'Previous error' }).click();
        await log.locator('.log-line.current', { hasText: shown }).waitFor();
      }
      await page.keyboard.press('e');
      await log.locator('.log-line.current', { hasText: 'ERROR: early' }).waitFor();
      // The level and the search apply together.
      await page.getByRole('button', { name: 'Errors 2' }).click();
      await expect.poll(() => log.locator('.log-line').count()).toBe(2);
      await page.getByLabel('Search the log').fill('e');
      await page.getByText('found').waitFor();
      await page.getByLabel('Search the log').fill('listens');
      await page.getByText('0 found').waitFor();
      expect(follows()).toHaveLength(1);
      const ended = page.waitForEvent('requestfailed', (request) => /InstanceLogged/.test(request.postData() ?? ''));
      await page.getByRole('link', { name: 'Overview', exact: true }).click();
      await ended;
    }));

  it('keep 2,000 lines of the log searchable and offer all of it for download', () =>
    pages.with(screen('?tab=log'), web.renter, async ({ page }) => {
      const log = page.locator('.log');
      await log.getByText('listens').waitFor();
      // Writes to the log like the program itself, in writes so small that Podman 4.3 doesn't split any line.
      for (let from = 0; from < 3_000; from += 200) {
        await inside(`seq ${from} ${from + 199} | sed 's/.*/line & of many/' > /proc/1/fd/1`);
        await log.getByText(`line ${from + 199} of many`).waitFor();
      }
      const shown = await log.locator('.log-line').count();
      expect(shown).toBeGreaterThan(1_500);
      expect(shown).toBeLessThanOrEqual(2_000);

      const search = page.getByLabel('Search the log');
      await search.fill('LINE 288');
      await page.getByText('10 found').waitFor();
      expect(await log.locator('mark').first().textContent()).toBe('line 288');
      await search.press('Enter');
      await page.getByText('10 of 10').waitFor();
      await page.getByRole('button', { name: 'Next match' }).click();
      await page.getByText('1 of 10', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Previous match' }).click();
      await page.getByText('10 of 10').waitFor();
      const current = log.locator('mark.current');
      expect(await current.count()).toBe(1);
      await expect.poll(() => inView(page)).toBe(true);
      await page.getByRole('button', { name: 'Jump to newest' }).click();
      await page.getByRole('button', { name: 'Jump to newest' }).waitFor({ state: 'detached' });

      const begun = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download' }).click();
      const download = await begun;
      expect(download.suggestedFilename()).toBe(`${web.instanceId}.log`);
      const text = String(await (await download.createReadStream()).toArray().then(Buffer.concat));
      expect(text.split('\n').filter((line) => /line \d+ of many/.test(line))).toHaveLength(3_000);
    }));

  it('pass axe and fit a narrow window', async () => {
    for (const scheme of ['light', 'dark'] as const) {
      await pages.with(
        screen('?tab=files'),
        web.renter,
        async ({ page }) => {
          await page.getByRole('link', { name: 'large.bin', exact: true }).waitFor();
          await page.getByLabel('Files to upload').setInputFiles([
            { name: 'small.txt', mimeType: 'text/plain', buffer: Buffer.from('small') },
            { name: 'large.bin', mimeType: 'text/plain', buffer: Buffer.from('small') },
          ]);
          await uploadOf(page, 'small.txt')
            .getByText(/Done|already exists/)
            .waitFor();
          expect(await faultsIn(page)).toEqual([]);
          expect(await beyondWindow(page)).toBeLessThanOrEqual(0);
          await page.getByRole('link', { name: 'Log', exact: true }).click();
          await page.locator('.log').getByText('line 2999 of many').waitFor();
          await page.getByLabel('Search the log').fill('line 2999');
          await page.getByText('1 found').waitFor();
          expect(await faultsIn(page)).toEqual([]);
          expect(await beyondWindow(page)).toBeLessThanOrEqual(0);
        },
        { scheme, width: 320 },
      );
    }
  });

  async function sayInside(page: Page, query: string): Promise<void> {
    const link = await web.link(web.renter, 8080, `/log?${query}`);
    const tab = await page.context().newPage();
    await tab.goto(link.href);
    await tab.close();
  }
});

const uploadOf = (page: Page, name: string) => page.locator('.uploads li', { hasText: name });

/** Chooses an action in the menu of a file. */
async function choose(page: Page, action: string, name: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click();
  await page.getByRole('menuitem', { name: `${action} ${name}`, exact: true }).click();
}

const names = (page: Page) => page.locator('.files tbody th bdi').allInnerTexts();

/** Whether the selected match is visible. */
const inView = (page: Page) =>
  page.evaluate(() => {
    const [view, mark] = ['.log', 'mark.current'].map((name) => document.querySelector(name)!.getBoundingClientRect());
    return mark!.top >= view!.top && mark!.bottom <= view!.bottom;
  });

let large: { path: string; digest: string } | null = null;

async function largeFile(): Promise<{ path: string; digest: string }> {
  if (large !== null) return large;
  const path = join(folder(), 'large.bin');
  writeFileSync(path, randomBytes(LARGE_BYTES));
  large = { path, digest: await digestOf(path) };
  return large;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest('hex');
}
