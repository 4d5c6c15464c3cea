import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { beyondWindow, expectSound, faultsIn } from '../support/console/pages.js';
import type { Renter } from '../support/gateway.js';
import { needs } from '../support/tools.js';

const HOSTILE = `<img src=x onerror=alert(1)>\u202egnp.exe\u009b31m${'x'.repeat(10_000)}`;

describe('an instance’s screen in Chromium', needs('chromium'), () => {
  let open: OpenConsole;
  let owner: Renter;
  let id: string;

  beforeAll(async () => {
    open = await OpenConsole.shared();
    owner = await open.renter();
    const { body } = await owner.graphql('mutation { deployBest(input: { launch: { name: "train" } }) { id } }');
    id = body.data.deployBest.id;
    const create = 'mutation { createVolume(input: { name: "work", sizeGb: 10 }) { id } }';
    const volumeId = (await owner.graphql(create)).body.data.createVolume.id;
    await open.sql('update volume set name = $2 where id = $1', [volumeId, HOSTILE]);
    await open.sql("insert into volume_attachment (instance_id, volume_id, path) values ($1, $2, '/data')", [
      id,
      volumeId,
    ]);
    await open.sql(
      `insert into volume_snapshot (volume_id, id, at, lease, instance_id, size_bytes)
       select $2, repeat(digit, 64), now() + interval '1 second', 1, $1, 5000000000 from unnest('{a,b,c}'::text[]) digit`,
      [id, volumeId],
    );
  });
  afterAll(() => open?.close());

  it('is titled with the instance’s name and shows events as they happen', async () => {
    await open.pages.with(`/instances/${id}`, owner, async ({ page, complaints }) => {
      await page.getByRole('heading', { level: 1, name: 'train', exact: true }).waitFor();
      await page.getByText('Recent activity').click();
      await page.getByRole('link', { name: 'All activity' }).click();
      const timeline = page.getByRole('region', { name: 'Timeline' });
      await timeline.getByText('Deployed', { exact: true }).waitFor();
      await owner.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
      await timeline.getByText('Stopped', { exact: true }).waitFor();
      // The newest event comes first. Repeated events are one line that shows their count.
      const titles = await timeline.locator('.timeline-title').allInnerTexts();
      expect(titles.map((title) => title.split(' ')[0]).sort()).toEqual(['Deployed', 'Stopped', 'Volume']);
      expect(titles.at(-1)).toMatch(/^Deployed/);
      expect(titles.join(' ')).toContain('saved 3 times');
      expect(titles.join(' ')).not.toMatch(/[\u202e\u009b]/);
      expect(await page.locator('img[src="x"]').count()).toBe(0);
      await page.getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('heading', { name: 'The instance is stopped' }).waitFor();
      await page.getByText(/^Stopped, today at/).waitFor();
      await page.goBack();
      await timeline.getByRole('button', { name: 'Volumes' }).click();
      await expect.poll(() => timeline.locator('.timeline-title').count()).toBe(1);
      await expectSound(page);
      expect(complaints).toEqual([]);
    });
  });

  it('has a tab bar on a phone, with a keyboard-operable button for more screens', async () => {
    for (const width of [390, 320]) {
      await open.pages.with(
        '/instances',
        owner,
        async ({ page }) => {
          const nav = page.getByRole('navigation', { name: 'Screens' });
          await nav.getByRole('link', { name: 'Billing' }).waitFor();
          expect(await nav.evaluate((bar) => bar.scrollWidth - bar.clientWidth), 'scrolls sideways').toBe(0);
          await expect.poll(() => nav.getByRole('link', { name: 'Keys' }).isVisible()).toBe(false);
          expect(await page.getByRole('button', { name: /Sign out|Deutsch/ }).count()).toBe(0);
          const more = nav.getByRole('button', { name: 'More' });
          await more.focus();
          await page.keyboard.press('Enter');
          await nav.getByRole('link', { name: 'Volumes' }).waitFor();
          await nav.getByRole('button', { name: 'Sign out' }).waitFor();
          await nav.getByRole('button', { name: 'Deutsch' }).waitFor();
          if (width === 320) expect(await faultsIn(page, 'header')).toEqual([]);
          await page.keyboard.press('Tab');
          expect(await more.evaluate((button) => button === document.activeElement)).toBe(false);
          await page.keyboard.press('Escape');
          await expect.poll(() => nav.getByRole('link', { name: 'Keys' }).isVisible()).toBe(false);
          expect(await more.evaluate((button) => button === document.activeElement)).toBe(true);
          await page.keyboard.press('Enter');
          await page.keyboard.press('Tab');
          await page.keyboard.press('Tab');
          await page.keyboard.press('Enter');
          await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
          expect(await beyondWindow(page)).toBe(0);
        },
        { width },
      );
    }
  });
});
