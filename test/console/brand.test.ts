import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { expectSound } from '../support/console/pages.js';
import { scratchFolder } from '../support/scratch.js';
import { needs } from '../support/tools.js';

const NAME = 'Acme <i>&</i> Sons';
const CONTACT = 'a+b?cc=x@example.com';
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="12"><script>document.title = "hacked"</script></svg>';

describe("the operator's name, accent, logo and contact", needs('chromium'), () => {
  const folder = scratchFolder('brand-');
  let here: OpenConsole;

  beforeAll(async () => {
    const logo = join(folder, 'logo.svg');
    writeFileSync(logo, LOGO);
    here = await OpenConsole.open({
      OPERATOR_NAME: NAME,
      CONSOLE_ACCENT: '#0a0',
      CONSOLE_LOGO: logo,
      OPERATOR_CONTACT: CONTACT,
      SSH_PORT: '',
    });
  });
  afterAll(async () => {
    await here?.close();
    rmSync(folder, { recursive: true });
  });

  it('are in the frame, in the title, at sign-in and in the colours of both themes', async () => {
    const owner = await here.renter();
    for (const scheme of ['light', 'dark'] as const)
      await here.pages.with(
        '/sign-in',
        null,
        async ({ page, complaints }) => {
          await page.getByText(NAME).first().waitFor();
          expect(await page.title()).toBe(`Sign in · ${NAME}`);
          const logos = page.locator('img[src="/console/logo"]');
          expect(await logos.evaluateAll((all) => all.map((each) => (each as HTMLImageElement).naturalWidth))).toEqual([
            24,
          ]);
          const link = page.getByRole('link', { name: 'Verify statements' });
          await link.hover();
          const hue = await link.evaluate((link) =>
            Number(/oklch\([\d.]+ [\d.]+ ([\d.]+)/.exec(getComputedStyle(link).color)?.[1]),
          );
          expect(Math.abs(hue - 142)).toBeLessThan(2);
          await expectSound(page);
          await page.emulateMedia({ colorScheme: scheme });
          await page.getByLabel('API key').fill(owner.key);
          await page.getByLabel('API key').press('Enter');
          await page.getByRole('navigation', { name: 'Screens' }).waitFor();
          await page.getByRole('banner').getByText(NAME).waitFor();
          // Even when it is opened directly, the logo runs no script.
          await page.goto(`${here.gateway.address}/console/logo`);
          expect(await page.title()).not.toBe('hacked');
          expect(complaints.filter((each) => !each.includes('sandboxed'))).toEqual([]);
        },
        { scheme },
      );
  });

  it('lead to credit by email, without a step for SSH if the service has none', async () => {
    const owner = await here.renter('0');
    await here.pages.with('/', owner, async ({ page }) => {
      const steps = page.getByRole('region', { name: 'First steps' });
      await steps.getByText('0 of 2 done').waitFor();
      const href = await steps.getByRole('link', { name: 'Request credit' }).getAttribute('href');
      expect(href).toBe(`mailto:a%2Bb%3Fcc%3Dx@example.com?subject=Credit%20for%20account%20${owner.accountId}`);
      await steps.getByRole('link', { name: CONTACT }).waitFor();
      expect(await page.locator('main .primary').allInnerTexts()).toEqual(['Request credit']);
      await page.goto(`${here.gateway.address}/billing`);
      expect(await page.locator('main').getByRole('link', { name: CONTACT }).getAttribute('href')).toBe(href);
    });
  });
});
