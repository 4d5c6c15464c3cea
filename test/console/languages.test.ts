import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../web/texts/languages.js';
import { englishIn } from '../support/console/english.js';
import { OpenConsole } from '../support/console/open-console.js';
import { expectSoundInLongRun, faultsIn } from '../support/console/pages.js';
import { darken } from '../support/console/screen-check.js';
import { Faults, openTenant, WIDE, walk } from '../support/console/walk.js';
import { isLong } from '../support/long.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;
const GERMAN = { locale: 'de-AT' };
const LONG_MS = 600_000;
/** Parts of screens in which all text comes from the console. Rows of instances, for example, aren't included. */
const TRANSLATED = {
  '/': 'main > .stack > :not([aria-labelledby="rented"])',
  '/billing': 'main',
  '/machines': '.model-strip, .machine-filters',
  '/notifications': 'main h1, main .panel-head, main form',
};
const TRANSLATED_FOR_STRANGERS = { '/': 'main', '/sign-in': 'main' };

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const language = (page: Page) => page.evaluate(() => document.documentElement.lang);

describe('the console’s language', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('is the browser’s unless another is selected in the footer or the palette', async () => {
    const owner = await here.renter();
    await here.pages.with(
      '/keys',
      owner,
      async ({ page }) => {
        await heading(page, 'Schlüssel').waitFor();
        expect(await language(page)).toBe('de');
        expect(await page.title()).toMatch(/^Schlüssel · /);
        await page.getByRole('button', { name: 'English' }).click();
        await heading(page, 'Keys').waitFor();
        await page.reload();
        await heading(page, 'Keys').waitFor();
        expect(await language(page)).toBe('en');
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox').fill('sprache');
        await page.getByRole('option', { name: 'Language: Deutsch' }).waitFor();
        await page.keyboard.press('Enter');
        await heading(page, 'Schlüssel').waitFor();
      },
      GERMAN,
    );
  });

  it('applies to the palette, which finds German actions and English screen names', async () => {
    const owner = await here.renter();
    await here.pages.with(
      '/volumes',
      owner,
      async ({ page }) => {
        await heading(page, 'Volumes').waitFor();
        await page.keyboard.press('Control+k');
        expect(await page.locator('.find kbd').innerText()).toBe('Strg K');
        const field = page.getByRole('combobox', { name: 'Was suchen Sie?' });
        const chosen = page.getByRole('option', { selected: true });
        for (const [typed, found] of [
          ['aufladen', 'Guthaben aufladen'],
          ['geheim', 'Schlüssel'],
          ['secrets', 'Schlüssel'],
          ['abmelden', 'Abmelden'],
        ] as const) {
          await field.fill(typed);
          await expect.poll(() => chosen.innerText()).toBe(found);
        }
        await expectSoundInLongRun(page);
      },
      GERMAN,
    );
  });

  it("is used for errors, with the service's own text marked as English", async () => {
    const owner = await here.renter();
    await owner.graphql('mutation { createSecret(input: { name: "hf", value: "x" }) { name } }');
    await here.pages.with(
      '/keys',
      owner,
      async ({ page }) => {
        await page.getByRole('button', { name: 'Neues Secret' }).click();
        const dialog = page.getByRole('dialog', { name: 'Neues Secret' });
        await dialog.getByLabel('Name').fill('hf');
        await dialog.getByLabel('Wert').fill('y');
        await dialog.getByRole('button', { name: 'Speichern' }).click();
        const alert = dialog.getByRole('alert');
        await alert.getByText('Ein Secret namens hf gibt es schon; löschen Sie es zuerst.').waitFor();
        expect(await alert.locator('[lang="en"]').count()).toBe(0);

        await dialog.getByLabel('Name').fill('Not a name');
        await dialog.getByRole('button', { name: 'Speichern' }).click();
        await alert.getByText('Eine Angabe ist ungültig.').waitFor();
        expect(await alert.locator('[lang="en"]').innerText()).toMatch(/name must be/i);
        await expectSoundInLongRun(page);
      },
      GERMAN,
    );
  });

  it.each(
    LANGUAGES.slice(1).flatMap(({ code }) => [
      [code, 'signed in'],
      [code, 'signed out'],
    ]),
  )(
    'is used throughout in %s when %s, with no overflow or remaining English text',
    async (code, who) => {
      const tenant = who === 'signed in' ? await openTenant(here) : null;
      const translated: Record<string, string> = tenant === null ? TRANSLATED_FOR_STRANGERS : TRANSLATED;
      const faults = new Faults();
      const { paths, complaints } = await walk(here, tenant, code, async (visited) => {
        const { page, path } = visited;
        faults.add(path, 'language', (await language(page)) === code ? [] : ['another one']);
        faults.add(path, 'title', / · GPU[ -]/.test(await page.title()) ? [] : [await page.title()]);
        const within = translated[path];
        if (within !== undefined) faults.add(path, 'English', await englishIn(page, within));
        await faults.fits(visited);
        // The screens have the same structure in each language, so that the long run suffices.
        if (!isLong) return;
        faults.add(path, '640 px', await faultsIn(page, visited.within));
        await page.setViewportSize(WIDE);
        faults.add(path, 'light', await faultsIn(page, visited.within));
        await darken(page);
        faults.add(path, 'dark', await faultsIn(page, visited.within));
      });
      expect(faults.found).toEqual([]);
      expect(paths).toEqual(expect.arrayContaining(Object.keys(translated)));
      expect(complaints).toEqual([]);
    },
    LONG_MS,
  );
});
