import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { faultsIn } from '../support/console/pages.js';
import { mouseOnly, movingIn, unreachedByKeyboard } from '../support/console/screen-look.js';
import { Faults, openTenant, type Tenant, WIDE, walk } from '../support/console/walk.js';
import { needs } from '../support/tools.js';

const LONG_MS = 600_000;

describe('every screen', needs('chromium'), () => {
  let here: OpenConsole;
  let tenant: Tenant;

  beforeAll(async () => {
    here = await OpenConsole.shared();
    tenant = await openTenant(here);
  }, LONG_MS);
  afterAll(() => here?.close());

  const darkened = async (page: Page) => {
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: 'dark' });
    // Scripts of the page hear of it with its next frame.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
  };

  it.each(['signed in', 'signed out'])(
    '%s: passes axe in both themes, fits, moves nothing, and needs no mouse',
    async (who) => {
      const faults = new Faults();
      const { complaints } = await walk(here, who === 'signed in' ? tenant : null, 'en', async (visited) => {
        const { page, path, within } = visited;
        faults.add(path, 'language', (await page.locator('html').getAttribute('lang')) === 'en' ? [] : ['another one']);
        faults.add(path, 'title', / · GPU[ -]/.test(await page.title()) ? [] : [await page.title()]);
        faults.add(path, 'light', await faultsIn(page, within));
        await faults.fits(visited);
        await darkened(page);
        // What is dark differs in its colours alone.
        faults.add(path, 'dark', await faultsIn(page, within, { runOnly: ['color-contrast'] }));
        faults.add(path, 'motion', await movingIn(page));
        faults.add(path, 'mouse', await mouseOnly(page));
        faults.add(path, 'keyboard', await unreachedByKeyboard(page));
      });
      expect(faults.found).toEqual([]);
      expect(complaints).toEqual([]);
    },
    LONG_MS,
  );
});
