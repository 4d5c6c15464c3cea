import { mkdirSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { beyondWindow, faultsIn } from '../support/console/pages.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;
const GERMAN = { locale: 'de-AT' };
/** A folder that pictures go to, for whoever wants to look. */
const PICTURES = process.env.PICTURES;

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
const language = (page: Page) => page.evaluate(() => document.documentElement.lang);

describe('languages of the console', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.open({ SECRETS_KEY: 'ab'.repeat(32) });
    if (PICTURES !== undefined) mkdirSync(PICTURES, { recursive: true });
  });
  afterAll(() => here?.close());

  it('is the browser’s, and another once it is chosen, by the foot or by the palette', async () => {
    const owner = await here.renter();
    await here.pages.with(
      '/keys',
      owner,
      async ({ page }) => {
        await heading(page, 'Schlüssel und Geheimnisse').waitFor();
        expect(await language(page)).toBe('de');
        expect(await page.title()).toMatch(/^Schlüssel und Geheimnisse · /);
        await page.getByRole('button', { name: 'English' }).click();
        await heading(page, 'Keys and secrets').waitFor();
        await page.reload();
        await heading(page, 'Keys and secrets').waitFor();
        expect(await language(page)).toBe('en');
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox').fill('sprache');
        await page.getByRole('option', { name: 'Language: Deutsch' }).waitFor();
        await page.keyboard.press('Enter');
        await heading(page, 'Schlüssel und Geheimnisse').waitFor();
      },
      GERMAN,
    );
  });

  it('finds what can be done by German words, and screens by English ones too', async () => {
    const owner = await here.renter();
    await here.pages.with(
      '/volumes',
      owner,
      async ({ page }) => {
        await heading(page, 'Volumes').waitFor();
        await page.keyboard.press('Control+k');
        const field = page.getByRole('combobox', { name: 'Was suchen Sie?' });
        const chosen = page.getByRole('option', { selected: true });
        for (const [typed, found] of [
          ['aufladen', 'Guthaben aufladen'],
          ['geheim', 'Schlüssel und Geheimnisse'],
          ['secrets', 'Schlüssel und Geheimnisse'],
          ['abmelden', 'Abmelden'],
        ] as const) {
          await field.fill(typed);
          await expect.poll(() => chosen.innerText()).toBe(found);
        }
        expect(await faultsIn(page)).toEqual([]);
      },
      GERMAN,
    );
  });

  it('says refusals in German, and marks as English what the service adds', async () => {
    const owner = await here.renter();
    await owner.graphql('mutation { createSecret(input: { name: "hf", value: "x" }) { name } }');
    await here.pages.with(
      '/keys',
      owner,
      async ({ page }) => {
        await page.getByRole('button', { name: 'Neues Geheimnis' }).click();
        const dialog = page.getByRole('dialog', { name: 'Neues Geheimnis' });
        await dialog.getByLabel('Name').fill('hf');
        await dialog.getByLabel('Wert').fill('y');
        await dialog.getByRole('button', { name: 'Speichern' }).click();
        const alert = dialog.getByRole('alert');
        await alert.getByText('Ein Geheimnis hf gibt es schon; löschen Sie es zuerst.').waitFor();
        expect(await alert.locator('[lang="en"]').count()).toBe(0);

        await dialog.getByLabel('Name').fill('Not a name');
        await dialog.getByRole('button', { name: 'Speichern' }).click();
        await alert.getByText('Eine Angabe stimmt nicht.').waitFor();
        expect(await alert.locator('[lang="en"]').innerText()).toMatch(/name must be/i);
        expect(await faultsIn(page)).toEqual([]);
      },
      GERMAN,
    );
  });

  it.each([
    ['/keys', 1_400, 'light'],
    ['/keys', 320, 'dark'],
    ['/volumes', 320, 'light'],
    ['/volumes', 390, 'dark'],
  ] as const)('fits in German: %s at %s px, %s', async (path, width, scheme) => {
    const owner = await here.renter();
    await owner.graphql('mutation { createVolume(input: { name: "data", sizeGb: 20 }) { id } }');
    await owner.graphql('mutation { createSecret(input: { name: "hf", value: "x" }) { name } }');
    await here.pages.with(
      path,
      owner,
      async ({ page }) => {
        await page.getByRole('row', { name: path === '/keys' ? /hf/ : /data/ }).waitFor();
        if (PICTURES !== undefined)
          await page.screenshot({ path: `${PICTURES}/${path.slice(1)}-${width}-${scheme}.png`, fullPage: true });
        expect(await beyondWindow(page)).toBeLessThanOrEqual(0);
        expect(await faultsIn(page)).toEqual([]);
      },
      { ...GERMAN, width, scheme },
    );
  });
});
