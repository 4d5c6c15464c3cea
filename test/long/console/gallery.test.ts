import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedChromium } from '../../support/chromium.js';
import { beyondWindow, faultsIn, Pages, SOON_MS } from '../../support/console/pages.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';

/**
 * Acts like a notebook server, which sends its page if the request contains the token and otherwise responds with a
 * 403.
 */
const LAB = `mkdir -p /www/cgi-bin
cat > /www/cgi-bin/lab <<'CGI'
#!/bin/sh
if [ -n "$JUPYTER_TOKEN" ] && [ "$QUERY_STRING" = "token=$JUPYTER_TOKEN" ]; then
  printf 'Content-Type: text/html\\r\\n\\r\\n<title>Lab</title><h1>An open notebook with %s</h1>' "$MODEL"
else
  printf 'Status: 403 Forbidden\\r\\nContent-Type: text/plain\\r\\n\\r\\nno token'
fi
CGI
chmod +x /www/cgi-bin/lab
trap 'exit 0' TERM
httpd -f -p 8888 -h /www & wait`;
const HOSTILE = '<img src=x onerror="window.pwned=1">\u202edlrow';

describe('the template gallery', needsEngine('podman', 'chromium'), () => {
  let fleet: RealFleet;
  let host: RealHost;
  let renter: RealRenter;
  let browser: Browser;
  let pages: Pages;

  beforeAll(async () => {
    fleet = await RealFleet.open({ SECRETS_KEY: 'ab'.repeat(32), LOG_LEVEL: 'trace' });
    const variables = [
      { name: 'MODEL', description: HOSTILE, required: true },
      { name: 'JUPYTER_TOKEN', description: 'Lets you in', made: true },
      { name: 'PASSWORD', description: 'Lets you in elsewhere', made: true },
      { name: 'HF_TOKEN', description: 'Of models', secret: true },
    ];
    const lab = {
      command: ['/bin/sh', '-c', LAB],
      ports: '8888:JupyterLab',
      path: '/cgi-bin/lab?token=$(JUPYTER_TOKEN)',
    };
    const image = `${fleet.registry.at}/busybox`;
    await fleet.template('jupyter', image, {
      ...lab,
      title: 'JupyterLab',
      category: 'Notebooks',
      picture: 'notebook',
      vram_gb: 8,
      variables: variables.slice(1),
    });
    await fleet.template('form', image, {
      ...lab,
      title: HOSTILE,
      category: '<b>x</b>\u202e',
      description: HOSTILE,
      variables,
    });
    [host, renter, browser] = await Promise.all([fleet.host(), fleet.renter(), sharedChromium()]);
    pages = new Pages(browser, fleet.address);
  });
  afterAll(async () => {
    await pages?.close();
    await fleet?.close();
  });

  const deployButton = (page: Page) => page.getByRole('button', { name: /^Deploy for/ });
  const token = async (id: string) => {
    const { body } = await renter.api.graphql(`{ instanceLinks(id: "${id}") { tokens { variable value } } }`);
    return body.data.instanceLinks.tokens as { variable: string; value: string }[];
  };
  const idOf = (page: Page) => new URL(page.url()).pathname.split('/').at(-1)!;
  const destroyed = async (id: string) => {
    await renter.destroy(id);
    await renter.phase(id, 'ERASED');
  };

  it('opens a notebook from its card in at most 4 clicks without logging its token', () =>
    pages.with(`/deploy?gpu=rtx-4090&machine=${host.machineId}`, renter.api, async ({ page, complaints }) => {
      await deployButton(page).waitFor();
      expect(await faultsIn(page)).toEqual([]);
      let clicks = 0;
      const click = async (role: 'radio' | 'button' | 'link', name: RegExp) => {
        clicks += 1;
        await page.getByRole(role, { name }).click();
      };
      await click('radio', /^JupyterLab/);
      await click('button', /^Deploy for/);
      const open = page.getByRole('button', { name: 'Open JupyterLab' });
      await click('link', /^Overview$/);
      await page.getByText('running', { exact: true }).waitFor({ timeout: 2 * SOON_MS });
      await open.waitFor();
      const id = idOf(page);
      const opened = page.context().waitForEvent('page');
      await click('button', /^Open JupyterLab$/);
      const tab = await opened;
      await tab.getByRole('heading', { name: 'An open notebook' }).waitFor();
      expect(clicks).toBeLessThanOrEqual(4);
      const [made, other] = await token(id);
      expect(new URL(tab.url()).search).toBe(`?token=${made!.value}`);
      const bare = await tab.goto(tab.url().replace(made!.value, other!.value));
      expect(bare!.status()).toBe(403);
      await page.getByText('Ports and passwords').click();
      await page.getByText('PASSWORD, generated:').waitFor();
      expect([await beyondWindow(page), await faultsIn(page)]).toEqual([0, []]);
      expect(complaints).toEqual([]);
      const written = fleet.gatewayOutput + host.log;
      for (const { value } of [made!, other!]) expect(written.includes(value)).toBe(false);

      for (const [time, shown] of [
        ['8h', /^Stops /],
        ['', /^Never$/],
      ] as const) {
        await page.getByRole('button', { name: `Edit limits of ${id}` }).click();
        await page.getByLabel('Stop automatically after or at').fill(time);
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await page.getByText(shown).waitFor();
      }
      await destroyed(id);
    }));

  it("shows a template's variables as a safe, keyboard-operable form that can be saved", () =>
    pages.with(
      `/deploy?gpu=rtx-4090&machine=${host.machineId}&template=form`,
      renter.api,
      async ({ page, complaints }) => {
        await page.getByText('which the template form needs').waitFor();
        expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
        expect(await page.content()).not.toContain('\u202e');
        expect([await beyondWindow(page), await faultsIn(page)]).toEqual([0, []]);
        const focused = () =>
          page.evaluate(() => {
            const { name, innerText } = document.activeElement as HTMLInputElement;
            return name || innerText;
          });
        const to = async (name: RegExp) => {
          for (let presses = 0; presses < 40 && !name.test(await focused()); presses += 1)
            await page.keyboard.press('Tab');
          expect(await focused()).toMatch(name);
        };
        await to(/^template$/);
        await to(/^env\.MODEL$/);
        await page.keyboard.type('a/b');
        await deployButton(page).waitFor();
        await to(/^Code, link and template/);
        await page.keyboard.press('Enter');
        await to(/^save-as$/);
        await page.keyboard.type('mine');
        await page.keyboard.press('Enter');
        await page.getByText('Saved as mine').waitFor();
        await page.getByText('Deadlines and limit').click();
        await to(/^stopAt$/);
        await page.keyboard.type('8h');
        await to(/^Deploy for/);
        await page.keyboard.press('Enter');
        await page.getByRole('link', { name: 'Overview', exact: true }).click();
        await page.getByText(/^Stops /).waitFor();
        await renter.destroy(idOf(page));
        await page.goto(`${pages.address}/deploy?gpu=rtx-4090&machine=${host.machineId}`);
        await page.getByRole('radio', { name: /^mine/ }).click();
        await expect.poll(() => page.locator('[name="env.MODEL"]').inputValue()).toBe('a/b');
        await page.getByRole('button', { name: 'Delete mine' }).click();
        await expect.poll(() => page.getByRole('radio', { name: /^mine/ }).count()).toBe(0);
        expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
        expect(complaints).toEqual([]);
      },
      { width: 390 },
    ));
});
