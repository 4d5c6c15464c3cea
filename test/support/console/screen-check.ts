import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { isLong } from '../long.js';
import type { OpenConsole } from './open-console.js';
import { faultsIn } from './pages.js';
import { mouseOnly, movingIn, unreachedByKeyboard } from './screen-look.js';
import { Faults, type Tenant, WIDE, walk } from './walk.js';

/**
 * Screens that are also checked in the dark theme. It differs only in its colours, all of which these screens show. The
 * long run checks every screen in it.
 */
const IN_THE_DARK = /^\/($|machines$|billing|instances\/)/;
/** Addresses that show the list of machines for another model, with the same length. */
const SAME_KEYS = /^\/machines\?/;

/**
 * Walks through screens in English and returns their paths. Each screen must pass axe, fit narrow windows, move nothing
 * and need no mouse.
 */
export async function checkScreens(
  here: OpenConsole,
  tenant: Tenant | null,
  addresses: readonly string[],
): Promise<string[]> {
  const faults = new Faults();
  const { paths, complaints } = await walk(
    here,
    tenant,
    'en',
    async (visited) => {
      const { page, path, within } = visited;
      faults.add(path, 'language', (await page.locator('html').getAttribute('lang')) === 'en' ? [] : ['another one']);
      faults.add(path, 'title', / · GPU[ -]/.test(await page.title()) ? [] : [await page.title()]);
      faults.add(path, 'light', await faultsIn(page, within));
      await faults.fits(visited);
      await page.setViewportSize(WIDE);
      if (isLong || IN_THE_DARK.test(path)) {
        await darken(page);
        faults.add(path, 'dark', await faultsIn(page, within, { runOnly: ['color-contrast'] }));
      }
      faults.add(path, 'motion', await movingIn(page));
      faults.add(path, 'mouse', await mouseOnly(page));
      if (isLong || !SAME_KEYS.test(path)) faults.add(path, 'keyboard', await unreachedByKeyboard(page));
    },
    addresses,
  );
  expect(faults.found).toEqual([]);
  expect(complaints).toEqual([]);
  return paths;
}

/** Switches the page to the dark theme. */
export async function darken(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  // The page's scripts are notified in its next frame.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
}
