import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { creditAccount } from '../../src/domain/accounts/accounts.js';
import { englishIn } from '../support/console/english.js';
import { OpenConsole } from '../support/console/open-console.js';
import { beyondWindow, faultsIn, SOON_MS } from '../support/console/pages.js';
import type { Renter } from '../support/gateway.js';
import { newSshKey } from '../support/ssh-key.js';
import { needs } from '../support/tools.js';

/** `title` says that a screen has come; `ready` that what it asked for is there. */
const SCREENS = [
  { path: '/', isOut: true, title: 'GPUs sekundengenau mieten', ready: '#prices tbody tr', within: 'main' },
  { path: '/sign-in', isOut: true, title: 'Anmelden', ready: '[aria-labelledby="new-account"]', within: 'main' },
  // Its rows are those of the instances.
  { path: '/', title: 'Übersicht', ready: '.attention li', within: 'main > .stack > :not([aria-labelledby="rented"])' },
  { path: '/money', title: 'Abrechnung', ready: '[aria-labelledby="statement"] tbody tr', within: 'main' },
  { path: '/machines', ready: '#prices tbody tr', within: '#prices' },
  { path: '/webhooks', ready: '[aria-labelledby="mail"] form', within: '[aria-labelledby="mail"]' },
];

describe('in German', needs('chromium'), () => {
  let here: OpenConsole;
  let owner: Renter;

  beforeAll(async () => {
    here = await OpenConsole.open({ SIGNUP: 'open' });
    owner = await here.renter('5');
    await owner.graphql('mutation { deployBest(input: { gpus: ["h100-sxm"] }) { id } }');
    await owner.graphql('mutation { setMonthlyLimit(monthlyLimit: 4) { monthlyLimit } }');
    await owner.graphql('mutation { createVolume(input: { name: "data", sizeGb: 10 }) { id } }');
    await owner.graphql(`mutation { addSshKey(publicKey: "${newSshKey('laptop')}") { id } }`);
    await creditAccount(here.deps, owner.accountId, { amountMicro: 1_000_000n, note: null });
  });
  afterAll(() => here?.close());

  it.each(SCREENS)('$path has no English, is sound to axe and fits a narrow window: $title', async (screen) => {
    const { path, isOut = false, title, ready, within } = screen;
    await here.pages.with(
      path,
      isOut ? null : owner,
      async ({ page, complaints }) => {
        await page.locator(ready).first().waitFor();
        expect(await page.locator('html').getAttribute('lang')).toBe('de');
        if (title !== undefined) await expect.poll(() => page.title(), { timeout: SOON_MS }).toMatch(`${title} · `);
        await expect.poll(() => englishIn(page, within), { timeout: SOON_MS }).toEqual([]);
        expect(await faultsIn(page)).toEqual([]);
        await page.emulateMedia({ colorScheme: 'dark' });
        expect(await faultsIn(page, 'body', { runOnly: ['color-contrast'] })).toEqual([]);
        for (const width of [320, 390, 640]) {
          await page.setViewportSize({ width, height: 900 });
          expect(await beyondWindow(page), `${width} px`).toBeLessThanOrEqual(0);
        }
        expect(complaints).toEqual([]);
      },
      { locale: 'de' },
    );
  });
});
