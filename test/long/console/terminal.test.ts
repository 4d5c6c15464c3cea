import { execFileSync } from 'node:child_process';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedChromium } from '../../support/chromium.js';
import { beyondWindow, faultsIn, Pages, SOON_MS } from '../../support/console/pages.js';
import { enter, PROMPT, rows, waitForText } from '../../support/console/terminal-screen.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { until } from '../../support/until.js';

/** Whether this computer is running a process with this command line. */
const runs = (command: string) =>
  execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' }).split('\n').includes(command);

describe('the console’s terminal', needsEngine('podman', 'chromium', 'ps'), () => {
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let browser: Browser;
  let pages: Pages;
  let id: string;

  beforeAll(async () => {
    [fleet, browser] = await Promise.all([RealFleet.open(), sharedChromium()]);
    host = await fleet.host();
    renter = await fleet.renter();
    pages = new Pages(browser, fleet.address);
  });
  afterAll(async () => {
    await pages?.close();
    await fleet?.close();
  });

  const screen = () => `/instances/${id}?tab=terminal`;
  const shown = async (page: Page): Promise<Page> => {
    await waitForText(page, PROMPT);
    return page;
  };

  it("shows a prompt once a new instance's container is running", () =>
    pages.with('/', renter.api, async ({ page, complaints }) => {
      await page.goto(`${pages.address}/?deploy=${host.machineId}`);
      await page.getByRole('radio', { name: /^busybox/ }).check({ force: true });
      await page.getByRole('button', { name: /^Deploy for/ }).click();
      await page.waitForURL(/\/instances\/i-/);
      id = new URL(page.url()).pathname.split('/').pop()!;
      // The terminal waits while the container is being created.
      await page.getByRole('link', { name: 'Terminal', exact: true }).click();
      await shown(page);
      await enter(page, 'echo in""side; printf "\\033[38;2;200;30;30mred\\033[0m\\n"');
      await waitForText(page, '\ninside\nred');
      // 24-bit colours become styles, which the policy permits only if they are set through objects.
      const red = page.locator('.xterm-rows span', { hasText: /^red$/ });
      expect(await red.getAttribute('style')).toMatch(/color: ?(#|rgb)/);
      const size = await page.locator('.xterm-screen').boundingBox();
      expect(size!.height).toBeGreaterThan(200);
      expect(await page.evaluate(() => document.adoptedStyleSheets.length)).toBeGreaterThan(0);
      expect(complaints).toEqual([]);
      // The terminal's code is loaded only when it is opened.
      const { page: other, requests } = await pages.visit('/instances', page.context());
      await other.getByRole('heading', { level: 1 }).waitFor();
      expect(requests.filter((request) => /terminal/.test(request.url()))).toEqual([]);
    }));

  it('keeps the same shell after a disconnect and after a reload', () =>
    pages.with(screen(), renter.api, async ({ page }) => {
      await shown(page);
      await enter(page, 'mine=ke""pt; i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.1; done');
      await waitForText(page, 'line 5\n');
      await fleet.killGateway();
      await page.getByText('Connection lost').waitFor();
      await fleet.startGateway();
      await waitForText(page, /line 39\n.*[#$] ?$/);
      const lines = (await rows(page)).split('\n').filter((line) => /^line \d+$/.test(line));
      expect(new Set(lines).size).toBe(lines.length);
      await enter(page, 'clear; echo $mine');
      await waitForText(page, /^kept\n/);
      // The terminal answers a program's queries once and not again after a reload.
      await enter(
        page,
        'stty -icanon -echo; printf "\\033[c"; dd bs=7 count=1 2>/dev/null | wc -c; stty sane; echo go""t',
      );
      await waitForText(page, '\n7\ngot');
      await page.reload();
      await waitForText(page, '\n7\ngot');
      await enter(page, 'echo $mine again');
      await waitForText(page, '\nkept again\n');
      expect(await rows(page)).not.toContain('1;2c');
      // Another tab takes the shell over, and this one can take it back.
      const context = page.context();
      const other = await context.newPage();
      const kept = await page.evaluate(() => JSON.stringify(sessionStorage));
      await other.addInitScript((text) => {
        for (const [name, value] of Object.entries(JSON.parse(text))) sessionStorage.setItem(name, value as string);
      }, kept);
      await other.goto(page.url());
      await waitForText(other, '\nkept again\n');
      await page.getByText('This terminal is now open in another tab').waitFor();
      await page.getByRole('button', { name: 'Show it here' }).click();
      await other.getByText('This terminal is now open in another tab').waitFor();
      await enter(page, 'echo $mine here');
      await waitForText(page, '\nkept here\n');
    }));

  it('can have several shells, which can be ended individually or exit on their own', () =>
    pages.with(screen(), renter.api, async ({ page }) => {
      await shown(page);
      await enter(page, 'echo fir""st');
      await page.getByRole('button', { name: 'New terminal' }).click();
      await page.getByRole('button', { name: 'Terminal 2', pressed: true }).waitFor();
      await shown(page);
      await enter(page, 'sleep 7171');
      await until('it runs', () => runs('sleep 7171'), SOON_MS);
      await page.getByRole('button', { name: 'Terminal 1' }).first().click();
      await waitForText(page, '\nfirst\n');
      // Shells in hidden tabs keep running.
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('link', { name: 'Terminal', exact: true }).click();
      await waitForText(page, '\nfirst\n');
      expect(runs('sleep 7171')).toBe(true);
      await page.getByRole('button', { name: 'Close terminal 2' }).click();
      await until('its shell has ended', () => !runs('sleep 7171'), SOON_MS);
      await enter(page, 'exit 3');
      await page.getByText('The shell has ended with code 3.').waitFor();
      await page.getByRole('button', { name: 'Start a new one' }).click();
      await shown(page);
    }));

  it('follows the window’s size and supports copy and paste', () =>
    pages.with(screen(), renter.api, async ({ page }) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: pages.address });
      await shown(page);
      const columns = async () => {
        await enter(page, 'clear; stty size');
        // Everything is read at once, since the next read may see a later screen.
        const size = await until('its size', async () => /^\d+ (\d+)\n/.exec(await rows(page)), SOON_MS);
        return Number(size[1]);
      };
      const wide = await columns();
      await page.setViewportSize({ width: 700, height: 900 });
      await until('it is narrower', async () => (await columns()) < wide, SOON_MS);
      await enter(page, 'clear; echo copy""me');
      await waitForText(page, /^copyme\n/);
      const { x, y } = (await page.locator('.xterm-rows > div').first().boundingBox())!;
      await page.mouse.dblclick(x + 12, y + 6);
      await page.keyboard.press('Control+c');
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('copyme');
      await page.evaluate(() => navigator.clipboard.writeText('echo pas""ted'));
      await page.keyboard.press('Control+v');
      await page.keyboard.press('Enter');
      await waitForText(page, '\npasted\n');
      // Without a selection, the key interrupts the program.
      await enter(page, 'sleep 8181');
      await until('it runs', () => runs('sleep 8181'), SOON_MS);
      await page.keyboard.press('Control+c');
      await until('it is interrupted', () => !runs('sleep 8181'), SOON_MS);
      // The focus can leave the terminal by keyboard, although Tab goes to the program.
      await page.keyboard.press('Control+Shift+F6');
      expect(await page.evaluate(() => document.activeElement?.textContent)).toContain('Terminal 1');
    }));

  it('shows a hostile program’s output only as text', () =>
    pages.with(screen(), renter.api, async ({ page, complaints }) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: pages.address });
      await page.evaluate(() => navigator.clipboard.writeText('untouched'));
      await shown(page);
      const images = await page.evaluate(() => document.images.length);
      const title = '<img src=x onerror="window.pwned=1">\u202eevil';
      await page.locator('.xterm').click();
      await page.keyboard.insertText(`printf '\\033]0;${title}\\007'`);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: /Terminal 1 <img src=x onerror="window\.pwned=1">\\u202eevil/ }).waitFor();
      await enter(page, `printf '\\033]52;c;%s\\007' "$(echo stolen | base64)"; echo cop""ied`);
      await waitForText(page, '\ncopied\n');
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('untouched');
      await enter(
        page,
        `clear; printf '\\033]8;;javascript:window.pwned=2\\033\\\\li%s\\033]8;;\\033\\\\\\n' nk; echo do""ne`,
      );
      await waitForText(page, /link\ndone/);
      const { x, y } = (await page.locator('.xterm-rows > div', { hasText: 'link' }).first().boundingBox())!;
      await page.keyboard.down('Control');
      await page.mouse.move(x + 12, y + 6);
      await page.mouse.click(x + 12, y + 6);
      await page.keyboard.up('Control');
      // 300,000 lines and a title of 1 MB leave the page unchanged.
      await enter(
        page,
        "printf '\\033]0;'; head -c 1000000 /dev/zero | tr '\\0' t; printf '\\007'; seq 1 300000; echo fin''ished",
      );
      await waitForText(page, '300000\nfinished');
      const named = await page.locator('.terminal-name button').first().innerText();
      expect(named.length).toBeLessThan(100);
      expect(await page.evaluate(() => [(window as { pwned?: number }).pwned, document.images.length])).toEqual([
        undefined,
        images,
      ]);
      expect(page.context().pages()).toHaveLength(1);
      expect(complaints).toEqual([]);
    }));

  it('passes axe in both themes, works with screen readers and fits a narrow window', async () => {
    for (const scheme of ['light', 'dark'] as const) {
      await pages.with(
        screen(),
        renter.api,
        async ({ page }) => {
          await shown(page);
          await page.getByRole('button', { name: 'Terminal options' }).click();
          await page.getByRole('menuitem', { name: 'Turn on screen reader mode' }).click();
          await enter(page, 'clear; echo re""ad aloud');
          await page.locator('.xterm-accessibility', { hasText: 'read aloud' }).waitFor();
          expect(await faultsIn(page)).toEqual([]);
          expect(await beyondWindow(page)).toBeLessThanOrEqual(0);
        },
        { scheme, width: 320 },
      );
    }
  });

  it('ends when its instance stops or the page signs out', () =>
    pages.with(screen(), renter.api, async ({ page }) => {
      await shown(page);
      await enter(page, 'sleep 9191');
      await until('it runs', () => runs('sleep 9191'), SOON_MS);
      const headers = { origin: pages.address };
      expect((await page.request.delete(`${pages.address}/console/session`, { headers })).status()).toBe(204);
      await page.getByText('You are signed out').first().waitFor();
      await until('its shell has ended', () => !runs('sleep 9191'), SOON_MS);
      expect(await page.evaluate(() => JSON.stringify(sessionStorage))).toBe('{}');
      await renter.act(id, 'stop');
      await pages.with(screen(), renter.api, async ({ page: another }) => {
        await another.getByText('The instance isn’t running').waitFor();
      });
    }));
});
