import jsqr from 'jsqr';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedChromium } from '../support/chromium.js';
import { expectSound, Pages } from '../support/console/pages.js';
import type { Chain } from '../support/payments/chain.js';
import { LitecoinChain } from '../support/payments/litecoin.js';
import { openShop, type Shop } from '../support/payments/shop.js';
import { needs } from '../support/tools.js';

describe('a top-up in the console on a real Litecoin chain', needs('chromium', 'litecoind'), () => {
  let chain: Chain;
  let shop: Shop;
  let browser: Browser;
  let pages: Pages;

  beforeAll(async () => {
    [chain, browser] = await Promise.all([LitecoinChain.open(), sharedChromium()]);
    shop = await openShop({ chains: { LTC: chain }, reportsUnconfirmed: ['LTC'] });
    pages = new Pages(browser, shop.gateway.address);
  });
  afterAll(async () => {
    await pages?.close();
    await shop?.close();
    await chain?.close();
  });

  async function fill(page: Page, usd: string): Promise<void> {
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByLabel('Amount (USD)').fill(usd);
  }

  async function ask(page: Page, usd: string): Promise<Locator> {
    await fill(page, usd);
    await page.getByRole('button', { name: 'Get address' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('img', { name: 'Payment QR code' }).waitFor();
    return dialog;
  }

  it('is paid by QR code and tracked on screen until it is credited', async () => {
    const owner = await shop.gateway.renter('0');
    await pages.with('/billing', owner, async ({ page, complaints }) => {
      await page.getByText('nothing running').waitFor();
      const dialog = await ask(page, '50');
      await dialog.getByText('waiting for payment').waitFor();
      await dialog.getByText('0.625 LTC').first().waitFor();

      // Like a wallet, the test sees only the picture.
      const uri = new URL(await readQr(dialog.locator('.qr'), page));
      expect(uri.protocol).toBe('litecoin:');
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await readQr(dialog.locator('.qr'), page)).toBe(uri.href);
      await expectSound(page, 'dialog');
      expect(await dialog.locator('code.secret').innerText()).toBe(uri.pathname);
      expect(await dialog.getByRole('link', { name: 'Open in wallet' }).getAttribute('href')).toBe(uri.href);
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await dialog.getByRole('button', { name: 'Copy amount' }).click();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('0.625');
      const timer = dialog.getByRole('timer');
      const left = await timer.innerText();
      expect(left).toMatch(/^\d\d:\d\d:\d\d left$/);
      await expect.poll(() => timer.innerText()).not.toBe(left);
      await chain.pay(uri.pathname, uri.searchParams.get('amount')!);

      await shop.shkeeper.poll();
      await dialog.getByText('payment detected, not in a block yet').waitFor();
      await dialog.getByText('0 of 6 confirmations').waitFor();
      await chain.mine(5);
      await shop.shkeeper.poll();
      expect(await page.locator('.head-balance').innerText()).toMatch(/^0\.00 USD/);
      await chain.mine(1);
      await shop.shkeeper.poll();
      await dialog.getByText('credited', { exact: true }).waitFor();
      await page.locator('.head-balance').getByText('50.00 USD').waitFor();

      // The dialog has its own address, so it can be shared, reloaded and closed.
      await page.reload();
      await dialog.getByText('credited', { exact: true }).waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect(new URL(page.url()).search).toBe('');
      await page.locator('summary').filter({ hasText: 'Top-ups' }).click();
      await page.getByRole('row', { name: /0\.625 LTC credited .* 50\.00 50\.00/ }).waitFor();
      expect(complaints).toEqual([]);
    });
  });

  it('is created only once, however often the button is pressed', async () => {
    const owner = await shop.gateway.renter('0');
    await pages.with('/billing', owner, async ({ page }) => {
      await fill(page, '20');
      await page.getByRole('button', { name: 'Get address' }).evaluate((button: HTMLButtonElement) => {
        for (let press = 0; press < 5; press += 1) button.click();
      });
      await page.getByRole('img', { name: 'Payment QR code' }).waitFor();
      const { body } = await owner.graphql('{ topUps { id usd } }');
      expect(body.data.topUps.map(({ usd }: { usd: number }) => usd)).toEqual([20]);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Add credit' }).click();
      const least = Number(await page.getByLabel('Amount (USD)').getAttribute('min'));
      const asset = (await owner.graphql('{ topUpAssets { minimum } }')).body.data.topUpAssets[0];
      expect(least).toBe(asset.minimum);
    });
  });

  it('is created once if the response is lost and the button is pressed again', async () => {
    const owner = await shop.gateway.renter('0');
    await pages.with('/billing', owner, async ({ page }) => {
      let isFirst = true;
      await page.route('**/graphql', async (route) => {
        if (!isFirst || !/mutation CreateTopUp/.test(route.request().postData() ?? '')) return route.fallback();
        isFirst = false;
        await route.fetch();
        return route.abort();
      });
      const sums = async () => {
        const { body } = await owner.graphql('{ topUps { usd } }');
        return body.data.topUps.map(({ usd }: { usd: number }) => usd);
      };
      await fill(page, '20');
      await page.getByRole('button', { name: 'Get address' }).click();
      await page.getByText('The service isn’t responding').waitFor();
      // The result is listed without another press.
      await page.getByRole('listitem').filter({ hasText: '20.00 USD' }).waitFor();
      await page.getByRole('button', { name: 'Get address' }).click();
      await page.getByRole('img', { name: 'Payment QR code' }).waitFor();
      expect(await sums()).toEqual([20]);
      await page.keyboard.press('Escape');
      await ask(page, '20');
      expect(await sums()).toEqual([20, 20]);
    });
  });
});

/** Reads the screen like a camera, by decoding the pixels of a screenshot. */
async function readQr(code: Locator, page: Page): Promise<string> {
  const picture = (await code.screenshot()).toString('base64');
  // This page doesn't have the console's policy, which would block such pictures.
  const canvas = await page.context().newPage();
  const { width, height, pixels } = await canvas.evaluate(async (png) => {
    const image = new Image();
    image.src = `data:image/png;base64,${png}`;
    await image.decode();
    const { width, height } = image;
    const context = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d')!;
    context.drawImage(image, 0, 0);
    // Each value is sent as one character, because an array of numbers would take seconds to receive.
    const { data } = context.getImageData(0, 0, width, height);
    let pixels = '';
    for (let at = 0; at < data.length; at += 4) pixels += String.fromCharCode(data[at + 1]!);
    return { width, height, pixels };
  }, picture);
  await canvas.close();
  const grey = Uint8ClampedArray.from({ length: 4 * pixels.length }, (_, at) => pixels.charCodeAt(at >> 2));
  const read = jsqr.default(grey, width, height);
  expect(read, 'the code cannot be read').not.toBeNull();
  return read!.data;
}
