import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MAX_LIVE_INSTANCES } from '../../src/domain/kernel/instance-limit.js';
import { OpenConsole } from '../support/console/open-console.js';
import { beyondWindow, expectSoundInLongRun, SOON_MS } from '../support/console/pages.js';
import type { Renter } from '../support/gateway.js';
import { needs } from '../support/tools.js';

/** Far fewer rows than exist, for any window size. */
const MOST_DRAWN = 100;

let here: OpenConsole;
let owner: Renter;

/** The newest instance comes first. */
const idOf = (sequence: number) => `i-${sequence.toString(16).padStart(8, '0')}`;
const [NEWEST, OLDEST] = [idOf(MAX_LIVE_INSTANCES), idOf(1)];

const rows = (page: Page) => page.locator('tbody tr');
const row = (page: Page, id: string) => rows(page).filter({ has: page.getByRole('link', { name: id }) });
const showPart = (page: Page, share: number) =>
  page.evaluate((part) => scrollTo(0, document.documentElement.scrollHeight * part), share);

describe('a list with the maximum number of instances', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
    owner = await here.renter();
    await here.deps.db.pool.query(
      `insert into instance (id, account_id, sequence, machine_id, status, gpu, num_gpus, region, template, disk_gb, mode,
         gpu_rate, disk_rate, on_demand_rate, created_at, stopped_at, stop_reason)
       select 'i-' || lpad(to_hex(k), 8, '0'), $1, k, machine.id, 'STOPPED', gpu, num_gpus, region, 'pytorch', 1, 'ON_DEMAND',
         0, 0, 0, now(), now(), 'USER'
       from generate_series(1, $2::int) k, (select * from machine limit 1) machine`,
      [owner.accountId, MAX_LIVE_INSTANCES],
    );
  });
  afterAll(() => here?.close());

  it('renders only the rows in view, including the last one after scrolling', () =>
    here.pages.with('/instances', owner, async ({ page, complaints }) => {
      await row(page, NEWEST).waitFor();
      expect(await rows(page).count()).toBeLessThan(MOST_DRAWN);
      const table = page.getByRole('table');
      expect(await table.getAttribute('aria-rowcount')).toBe(String(MAX_LIVE_INSTANCES + 2));
      expect(await row(page, NEWEST).getAttribute('aria-rowindex')).toBe('2');
      await expectSoundInLongRun(page);
      for (const share of [0.5, 1]) await showPart(page, share);
      await row(page, OLDEST).waitFor();
      expect(await row(page, OLDEST).getAttribute('aria-rowindex')).toBe(String(MAX_LIVE_INSTANCES + 1));
      await row(page, NEWEST).waitFor({ state: 'detached' });
      expect(await rows(page).count()).toBeLessThan(MOST_DRAWN);

      await page.setViewportSize({ width: 320, height: 700 });
      expect(await beyondWindow(page)).toBeLessThanOrEqual(0);
      await showPart(page, 0);
      await row(page, NEWEST).waitFor();
      expect(await rows(page).count()).toBeLessThan(MOST_DRAWN);
      expect(complaints).toEqual([]);
    }));

  it('selects all rows, including those not rendered, even after scrolling', () =>
    here.pages.with('/instances', owner, async ({ page }) => {
      await page.getByRole('checkbox', { name: 'Select all' }).check();
      const all = MAX_LIVE_INSTANCES;
      const written = all.toLocaleString('en');
      await page.getByText(`${written} of ${written} selected`).waitFor();
      await showPart(page, 1);
      const last = page.getByRole('checkbox', { name: `Select ${OLDEST}` });
      expect(await last.isChecked()).toBe(true);
      await last.uncheck();
      await page.getByText(`${all - 1} of ${written} selected`).waitFor();
      await page.getByRole('button', { name: 'Actions for the selection' }).click();
      await page.getByRole('menuitem', { name: `Destroy ${all - 1} instances` }).waitFor();
    }));

  it('finds an instance that isn’t rendered, and keeps the search in the URL', () =>
    here.pages.with('/instances', owner, async ({ page }) => {
      await row(page, NEWEST).waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type(OLDEST);
      await row(page, OLDEST).waitFor();
      expect(await rows(page).count()).toBe(1);
      await page.getByText(`1 of ${MAX_LIVE_INSTANCES.toLocaleString('en')} instances`).waitFor();
      await expect.poll(() => new URL(page.url()).search, { timeout: SOON_MS }).toBe(`?q=${OLDEST}`);
      await page.getByRole('button', { name: 'Name', exact: true }).click();
      const name = page.getByRole('columnheader', { name: 'Name' });
      await expect.poll(() => name.getAttribute('aria-sort')).toBe('ascending');
      expect(new URL(page.url()).search).toBe(`?q=${OLDEST}&sort=name`);
    }));

  it('keeps the focus and a dialog when their row is scrolled out of view', () =>
    here.pages.with('/instances', owner, async ({ page }) => {
      const choose = page.getByRole('checkbox', { name: `Select ${NEWEST}` });
      await choose.focus();
      await showPart(page, 1);
      await row(page, OLDEST).waitFor();
      expect(await choose.evaluate((box) => box === document.activeElement)).toBe(true);

      await page.getByRole('button', { name: `Actions for ${OLDEST}` }).click();
      await page.getByRole('menuitem', { name: `Destroy ${OLDEST}` }).click();
      const dialog = page.getByRole('dialog', { name: `Destroy ${OLDEST}?` });
      await dialog.waitFor();
      await showPart(page, 0);
      // The previously focused row and those near it are drawn.
      await row(page, NEWEST).waitFor();
      await expect.poll(() => page.evaluate(() => scrollY), { timeout: SOON_MS }).toBe(0);
      expect(await dialog.isVisible()).toBe(true);
      await dialog.getByRole('button', { name: 'Keep it' }).click();
      await dialog.waitFor({ state: 'detached' });
      await expect
        .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')), { timeout: SOON_MS })
        .toBe(`Actions for ${OLDEST}`);
    }));
});
