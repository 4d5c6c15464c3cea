import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { heading, SOON_MS } from '../support/console/pages.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;

const renter = (creditUsd?: string) => here.renter(creditUsd);

/** Markup and characters that would change the direction of text or begin a terminal command. */
const XSS = '<img src=x onerror="window.pwned=1">\u202e\u009b';
const SEEN = `${XSS.slice(0, -2)}\\u202e\\u009b`;
const DEAR = 'h100-sxm';

describe('the rent page in Chromium', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('shows the exact price on the button, and RUNNING once it is pressed', async () => {
    const owner = await renter();
    const machine = await here.cheapest('rtx-5090');
    await here.pages.with(
      `/machines?gpu=rtx-5090&disk=60&deploy=${machine}&deploy-disk=100`,
      owner,
      async ({ page, complaints }) => {
        const { body } = await owner.graphql(
          'query ($input: QuoteInput!) { quote(input: $input) { totalPriceHr account { exhaustsAt } } }',
          { input: { machineId: machine, diskGb: 100 } },
        );
        const button = page.getByRole('button', {
          name: `Deploy for ${body.data.quote.totalPriceHr.toFixed(3)} USD/h`,
        });
        await button.waitFor();
        await page.getByText('With this, your balance of 100.00 USD lasts').waitFor();
        // This is a phone, with a bar of tabs at the bottom.
        await page.setViewportSize({ width: 360, height: 640 });
        await button.click();
        await page.getByText('running', { exact: true }).waitFor();
        expect(new URL(page.url()).pathname).toMatch(/^\/instances\/i-[0-9a-f]{8}$/);
        const rented = (await owner.rest('GET', '/instances')).body.data;
        expect(rented.map(({ disk_gb }: { disk_gb: number }) => disk_gb)).toEqual([100]);
        expect(complaints).toEqual([]);
      },
    );
  });

  it('rents only once, however often the button is pressed', async () => {
    const owner = await renter();
    // The `disk` filter is a machine's minimum disk, not the requested size.
    await here.pages.with('/machines?gpu=l40s&disk=60&deploy=best', owner, async ({ page, requests }) => {
      const button = page.getByRole('button', { name: /^Deploy for/ });
      await button.waitFor();
      await button.evaluate((element: HTMLButtonElement) => {
        for (let press = 0; press < 5; press += 1) element.click();
      });
      await page.getByText('running', { exact: true }).waitFor();
      const rented = (await owner.rest('GET', '/instances')).body.data;
      expect(rented.map(({ disk_gb }: { disk_gb: number }) => disk_gb)).toEqual([50]);
      expect(requests.filter((request) => /mutation Deploy/.test(request.postData() ?? ''))).toHaveLength(1);
    });
  });

  it('reports a lost request, or shows the instance if the request rented one', async () => {
    const owner = await renter();
    await here.pages.with('/machines?gpu=l40s&deploy=best', owner, async ({ page }) => {
      await page.getByRole('button', { name: /^Deploy for/ }).waitFor();
      // Everything except the footer fits in the window.
      const bottom = () => document.querySelector('main')!.getBoundingClientRect().bottom;
      expect(await page.evaluate(bottom)).toBeLessThanOrEqual(900);
      let presses = 0;
      await page.route('**/graphql', async (route) => {
        if (!/mutation DeployBest/.test(route.request().postData() ?? '')) return route.fallback();
        presses += 1;
        if (presses === 2) await route.fetch();
        return route.abort();
      });
      await page.getByRole('button', { name: /^Deploy for/ }).click();
      await page.getByText('The request didn’t reach the service: nothing was deployed').waitFor();
      await page.getByRole('button', { name: /^Deploy for/ }).click();
      await page.getByText('running', { exact: true }).waitFor();
      expect(presses).toBe(2);
      expect((await owner.rest('GET', '/instances')).body.data).toHaveLength(1);
    });
  });

  it('reports that the machine was taken, keeps the input and offers another', async () => {
    const [owner, other] = [await renter(), await renter()];
    const machine = await here.cheapest('a100-sxm-80gb');
    await here.pages.with(`/machines?gpu=a100-sxm-80gb&deploy=${machine}`, owner, async ({ page }) => {
      await page.getByRole('radio', { name: /^Custom image/ }).click();
      await page.getByLabel('Image', { exact: true }).fill('ghcr.io/acme/train:1.2');
      await page.getByRole('button', { name: /^Deploy for/ }).waitFor();
      expect((await other.rest('POST', '/instances', { machine_id: machine })).status).toBe(201);
      await page.getByText(/is taken|is rented|not free/).waitFor();
      await page.getByText('Next best:').waitFor();
      await page.getByRole('button', { name: 'Choose this one' }).click();
      await expect.poll(() => new URL(page.url()).searchParams.get('machine')).not.toBe(machine);
      expect(await page.getByLabel('Image', { exact: true }).inputValue()).toBe('ghcr.io/acme/train:1.2');
      await page.getByRole('button', { name: /^Deploy for/ }).click();
      await page.getByText('running', { exact: true }).waitFor();
      expect((await owner.rest('GET', '/instances')).body.data[0].template).toBe('ghcr.io/acme/train:1.2');
    });
  });

  it('opens from old URLs and can be left with the back button', () =>
    here.pages.with('/machines?gpu=l40s', null, async ({ page }) => {
      const address = () => new URL(page.url()).pathname + new URL(page.url()).search;
      for (const [old, next] of [
        ['/?gpu=l40s&deploy=best&mode=RESERVED', '/deploy?gpu=l40s&mode=RESERVED'],
        ['/machines?deploy=m-00000000&template=vllm&sort=VRAM', '/deploy?template=vllm&machine=m-00000000'],
      ]) {
        await page.goto(here.gateway.address + old);
        await expect.poll(address, { timeout: SOON_MS }).toBe(next);
        await heading(page, 'Deploy').waitFor();
        await page.goBack();
      }
      await heading(page, 'Machines').waitFor();
      await page.getByRole('link', { name: 'Deploy cheapest' }).click();
      await page.getByRole('radio', { name: /^Reserved/ }).check();
      await page.getByText('Deadlines and limit').click();
      await page.getByLabel('Spend limit (USD in total)').fill('2.50');
      await page.getByText('Name, variables, command, ports').click();
      await page.getByLabel('Name', { exact: true }).fill('mine');
      await page.getByRole('button', { name: 'Add variable' }).click();
      await page.getByLabel('Name of variable 1').fill('TOKEN');
      await page.getByLabel('Value of variable 1').fill('hidden');
      // The address contains selections but never the values of variables.
      await expect.poll(address).toBe('/deploy?gpu=l40s&mode=RESERVED&limit=2.50&name=mine');
      await page.getByText('Code, link and template').click();
      await page.getByRole('button', { name: 'curl' }).click();
      await page.getByText('"TOKEN": "hidden"').waitFor();
      await page.reload();
      await page.getByText('A link filled in this form').waitFor();
      expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('mine');
      expect(await page.getByLabel('Spend limit (USD in total)').inputValue()).toBe('2.50');
      expect(address()).not.toContain('hidden');
      await page.goBack();
      await heading(page, 'Machines').waitFor();
    }));

  it('reports a low balance, and offers no alternative if none exists', async () => {
    await here.pages.with(`/machines?gpu=${DEAR}&deploy=best`, await renter('0.01'), async ({ page, requests }) => {
      await page
        .getByRole('main')
        .getByText(/balance/i)
        .first()
        .waitFor();
      expect(await page.getByRole('button', { name: /^Deploy/ }).getAttribute('aria-disabled')).toBe('true');
      await page.getByRole('link', { name: 'Add credit' }).click();
      await heading(page, 'Billing').waitFor();
      // Another machine would cost as much, and a machine that doesn't exist has no alternative.
      await page.goto(`${here.gateway.address}/machines?deploy=m-00000000`);
      await page.getByText('Machine m-00000000 is not on offer').waitFor();
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      const likes = requests.filter((request) => /OfferSearch/.test(request.postData() ?? ''));
      expect(likes.filter((request) => request.postDataJSON().variables.first === 2)).toEqual([]);
    });
  });

  it("shows an offer's CPU name as plain text", async () => {
    const owner = await renter();
    const machine = await here.cheapest('rtx-4080');
    const [before] = await here.sql('select cpu from machine where id = $1', [machine]);
    await here.sql('update machine set cpu = $2 where id = $1', [machine, XSS]);
    try {
      await here.pages.with(`/machines?compare=${machine},m-00000000`, owner, async ({ page, complaints }) => {
        await page.getByText(SEEN).first().waitFor();
        await page.goto(`${here.gateway.address}/machines?gpu=rtx-4080&deploy=${machine}`);
        await page.getByRole('main').getByText(SEEN).last().waitFor();
        expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
        expect(complaints).toEqual([]);
      });
    } finally {
      // The offer is shown to all accounts.
      await here.sql('update machine set cpu = $2 where id = $1', [machine, before!.cpu]);
    }
  });

  it('rents and destroys by keyboard only, keeping the focus in place', async () => {
    const keyboardOwner = await renter();
    await here.pages.with('/machines?gpu=rtx-5090', keyboardOwner, async ({ page }) => {
      const focused = () => page.evaluate(() => (document.activeElement as HTMLElement).innerText.trim());
      const opener = page.getByRole('link', { name: 'Deploy cheapest' });
      await opener.focus();
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: /^Deploy for/ }).waitFor();
      await expect.poll(focused).toBe('Deploy');
      await page.goBack();
      await heading(page, 'Machines').waitFor();
      await opener.focus();
      await page.keyboard.press('Enter');
      const deploy = page.getByRole('button', { name: /^Deploy for/ });
      await deploy.waitFor();
      for (let presses = 0; presses < 40 && !/^Deploy for/.test(await focused()); presses += 1)
        await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByText('running', { exact: true }).waitFor();
      await expect.poll(focused).toMatch(/^i-[0-9a-f]{8}$/);

      const menu = page.getByRole('button', { name: /^Actions for i-/ });
      for (let presses = 0; presses < 10 && !(await menu.evaluate((it) => it === document.activeElement)); presses += 1)
        await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await expect.poll(focused).toBe('Deploy again');
      // The first item is followed by the last one when moving up.
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      for (let presses = 0; presses < 6 && (await focused()) !== 'Destroy'; presses += 1)
        await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByText('destroyed', { exact: true }).waitFor();
      expect(await page.getByRole('button', { name: /^Stop i-/ }).count()).toBe(0);
      await expect.poll(() => menu.evaluate((it) => it === document.activeElement)).toBe(true);
    });
  });
});
