import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealingKey } from '../../src/domain/kernel/sealing.js';
import { appendToLog } from '../../src/domain/proof/log.js';
import { findingText, type VerifiedFile, verify } from '../../src/verify/verify.js';
import { englishIn } from '../support/console/english.js';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { expectSound } from '../support/console/pages.js';
import { unreachedByKeyboard } from '../support/console/screen-look.js';
import type { Renter } from '../support/gateway.js';
import { needs } from '../support/tools.js';

const THIS_MONTH = new Date().toISOString().slice(0, 7);
/** The month before, in which the accounts of these tests didn't exist. */
const LAST_MONTH = new Date(Date.parse(`${THIS_MONTH}-01T00:00:00Z`) - 1).toISOString().slice(0, 7);

let here: OpenConsole;
let owner: Renter;

/** Clicks an entry of the statement's menu, and returns the name and content of the downloaded file. */
async function download(page: Page, entry: RegExp): Promise<{ name: string; text: string }> {
  await page.getByRole('button', { name: 'Download' }).click();
  const started = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: entry }).click();
  const file = await started;
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
}

/** Reads one of the service's public documents, as a link on the page does. */
const published = async (path: string): Promise<string> => (await fetch(here.gateway.address + path)).text();

const fileOf = (name: string, text: string): VerifiedFile => ({ name, content: new TextEncoder().encode(text) });

/** Gives the page files, and waits for their result. */
async function give(page: Page, files: readonly VerifiedFile[], verdict: string): Promise<void> {
  const chosen = files.map(({ name, content }) => ({
    name,
    mimeType: 'application/json',
    buffer: Buffer.from(content),
  }));
  await page.locator('input[type="file"]').setInputFiles(chosen);
  await page.getByRole('status').getByText(verdict).waitFor();
}

describe('the statement', needs('chromium'), () => {
  let signed: VerifiedFile;
  let proofs: VerifiedFile[];

  beforeAll(async () => {
    here = await OpenConsole.shared();
    owner = await here.renter('20');
    const id = await deployed(owner, 'rtx-3090');
    await owner.rest('DELETE', `/instances/${id}`);
    await appendToLog({ ...here.deps, sealingKeys: async () => [sealingKey(here.env.SECRETS_KEY!)] });
    await here.pages.with('/billing', owner, async ({ page }) => {
      const { name, text } = await download(page, /^Signed JSON/);
      expect(name).toBe(`statement-${THIS_MONTH}.json`);
      signed = fileOf(name, text);
    });
    proofs = [
      fileOf('p-1.json', await published('/.well-known/gpu-rental/keys.json')),
      fileOf('p-2.json', await published('/v1/log/roots')),
    ];
  });
  afterAll(() => here?.close());

  it('is downloaded in FOCUS and as an invoice with the details from the dialog', async () => {
    await here.pages.with('/billing', owner, async ({ page, complaints }) => {
      await page.getByRole('button', { name: 'Edit: Billing details' }).click();
      const dialog = page.getByRole('dialog', { name: 'Billing details' });
      await dialog.getByLabel('Name').fill('Ada & Co');
      await dialog.getByLabel('Address').fill('1 Long Lane\nLondon');
      await expectSound(page, 'dialog');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Billing details saved').waitFor();
      await page.getByRole('button', { name: 'Download' }).click();
      await expectSound(page);
      await page.keyboard.press('Escape');
      const invoice = await download(page, /^Invoice/);
      expect(invoice.name).toMatch(new RegExp(`^invoice-.*-${THIS_MONTH}\\.html$`));
      for (const line of ['Ada &amp; Co', '1 Long Lane', 'London']) expect(invoice.text).toContain(line);
      const focus = await download(page, /FOCUS/);
      expect(focus.name).toBe(`focus-${THIS_MONTH}.csv`);
      expect(focus.text).toMatch(/\bBilledCost\b/);
      await page.getByRole('button', { name: 'Edit: Billing details' }).click();
      await expect.poll(() => dialog.getByLabel('Address').inputValue()).toBe('1 Long Lane\nLondon');
      expect(complaints).toEqual([]);
    });
  });

  it('of a month before the account is refused in the page’s language', async () => {
    await here.pages.with(
      `/billing?month=${LAST_MONTH}`,
      owner,
      async ({ page }) => {
        await page.getByRole('button', { name: 'Herunterladen' }).click();
        await page.getByRole('menuitem', { name: 'Signiertes JSON' }).click();
        await page.getByRole('alert').getByText(`Dieses Konto hat nur einen Kontoauszug für ${THIS_MONTH}.`).waitFor();
      },
      { locale: 'de-AT' },
    );
  });

  it('verifies offline, and a changed one is named with the amount by which it is off', async () => {
    await here.pages.with('/verify', null, async ({ page, requests, complaints }) => {
      await page.getByRole('heading', { level: 1, name: 'Verify statements' }).waitFor();
      await page.context().setOffline(true);
      requests.length = 0;
      await give(page, [signed], 'Nothing is wrong, but something can’t be checked');
      await page.getByText("signature can't be checked: no keys were given", { exact: true }).first().waitFor();
      await give(page, proofs, 'Everything verifies: 1 statement, 1 key');
      await page.getByText(/account entries up to [\d,]+, covered by entry \d+ of the public log/).waitFor();
      await expectSound(page);
      expect(await unreachedByKeyboard(page)).toEqual([]);

      const statement = JSON.parse(new TextDecoder().decode(signed.content));
      statement.lines[0].units = `${BigInt(statement.lines[0].units) + 7n}`;
      const changed = fileOf('changed.json', JSON.stringify(statement));
      await page.getByRole('button', { name: `Remove ${signed.name}` }).click();
      await give(page, [changed], 'Something does not verify');
      const row = page.getByRole('listitem').filter({ hasText: 'changed.json' });
      await row.getByText('does not verify').waitFor();
      // The page shows what `gpu verify` prints.
      const { faults } = verify([changed, ...proofs]);
      expect(await row.locator('[lang="en"]').allInnerTexts()).toEqual(faults.map(findingText));
      expect(await row.innerText()).toMatch(/lines\[0\]\.units is .* \(\+7 units\)/);
      await page.getByRole('listitem').filter({ hasText: 'p-1.json' }).getByText('verified').waitFor();
      expect(requests.map((request) => request.url())).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });

  it('verifies in German, and files that are no documents can’t be checked', async () => {
    await here.pages.with(
      '/verify',
      null,
      async ({ page }) => {
        await give(page, [signed, ...proofs], 'Alles stimmt: 1 Kontoauszug, 1 Schlüssel');
        expect(await englishIn(page, 'body')).toEqual([]);
        await give(page, [fileOf('photo.png', '\u0089PNG')], 'Nichts ist falsch, aber nicht alles lässt sich prüfen');
        await page.getByRole('listitem').filter({ hasText: 'photo.png' }).getByText('nicht prüfbar').waitFor();
        expect(await englishIn(page, 'body')).toEqual([]);
      },
      { locale: 'de-AT' },
    );
  });

  it('verifies in a copy of the page that was saved', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'saved-page-'));
    const file = join(folder, 'verify.html');
    const headers = { accept: 'text/html', 'accept-language': 'en' };
    writeFileSync(file, await (await fetch(`${here.gateway.address}/verify`, { headers })).text());
    const context = await here.pages.context(null);
    await context.setOffline(true);
    const page = await context.newPage();
    await page.goto(pathToFileURL(file).href);
    await give(page, [signed, ...proofs], 'Everything verifies: 1 statement, 1 key');
    // The policy is part of the page, so that a copy can't send anything either.
    const isSent = await page.evaluate(
      (url) =>
        fetch(url).then(
          () => true,
          () => false,
        ),
      'data:,x',
    );
    expect([isSent, await page.locator('a[href^="/"]').count()]).toEqual([false, 0]);
    await context.close();
    rmSync(folder, { recursive: true });
  });
});
