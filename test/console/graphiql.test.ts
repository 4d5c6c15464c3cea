import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedChromium } from '../support/chromium.js';
import { type GraphiqlServer, serveGraphiql } from '../support/console/graphiql-server.js';
import { SOON_MS } from '../support/console/pages.js';
import { needs } from '../support/tools.js';

/** Delay after an edit, in which GraphiQL reads the operation's name and stores its state. */
const SETTLE_MS = 700;
const TAB_NAMES = ['PriceSheet', 'CheapestOffers', 'MyAccount', 'Deploy', 'StopStartDestroy', 'History', 'LiveOffers'];

describe('GraphiQL in Chromium', needs('chromium'), () => {
  let browser: Browser;
  let server: GraphiqlServer;

  beforeAll(async () => {
    [browser, server] = await Promise.all([sharedChromium(), serveGraphiql()]);
  });
  afterAll(() => server?.close());

  interface Visit {
    page: Page;
    requests: Request[];
    /** Exceptions and errors on the console, including policy violations. */
    complaints: string[];
  }

  async function visit(work: (visit: Visit) => Promise<void>, context?: BrowserContext): Promise<void> {
    const own = context ?? (await browser.newContext({ viewport: { width: 1440, height: 900 } }));
    try {
      const page = await own.newPage();
      page.setDefaultTimeout(SOON_MS);
      const requests: Request[] = [];
      const complaints: string[] = [];
      page.on('request', (request) => requests.push(request));
      page.on('requestfailed', (request) => complaints.push(`${request.url()}: ${request.failure()?.errorText}`));
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(String(error)));
      const introspected = page.waitForResponse((response) => response.request().method() === 'POST');
      await page.goto(`${server.origin}/graphql`);
      await introspected;
      await page.getByRole('tab').first().waitFor();
      await work({ page, requests, complaints });
    } finally {
      await own.close();
    }
  }

  const openTab = async (page: Page, name: string) => {
    await page.getByRole('tab').getByRole('button', { name, exact: true }).click();
    await page.getByRole('tab', { name, selected: true }).waitFor();
  };
  const tabNames = (page: Page) => page.locator('.graphiql-tab-button').allTextContents();
  const pane = (page: Page, name: string) => page.locator(`section[aria-label="${name}"]`);

  async function fill(page: Page, name: string, text: string): Promise<void> {
    await pane(page, name).locator('.view-lines').filter({ visible: true }).click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
    // Removes the closing brackets that the editor has added automatically.
    await page.keyboard.press('Control+Shift+End');
    await page.keyboard.press('Delete');
  }

  /** Presses the run button and resolves to the resulting request. */
  async function run(page: Page): Promise<Request> {
    await page.waitForTimeout(SETTLE_MS);
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await page.getByRole('button', { name: /^Execute query/ }).click();
    return sent;
  }

  it('shows examples and documentation and runs a query, all from its own origin', () =>
    visit(async ({ page, requests, complaints }) => {
      expect(await page.title()).toBe('GPU rental gateway – GraphiQL');
      expect(await tabNames(page)).toEqual(TAB_NAMES);

      await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
      await page.getByRole('link', { name: 'Query', exact: true }).click();
      await page.getByText('Reads. Prices, offers, quotes and the catalogue are public').waitFor();
      await page.getByRole('button', { name: 'Hide Documentation Explorer' }).click();

      await openTab(page, 'Deploy');
      await page.getByRole('button', { name: 'Variables' }).click();
      await pane(page, 'Variables').getByText('idempotencyKey').waitFor();

      await openTab(page, 'PriceSheet');
      await fill(page, 'Operation Editor', 'query PriceSheet { __typename }');
      await run(page);
      await pane(page, 'Result Window').getByText('"Query"').waitFor();

      expect(page.url()).toBe(`${server.origin}/graphql`);
      expect(requests.map((request) => new URL(request.url()).origin)).toEqual(requests.map(() => server.origin));
      expect(requests.filter((request) => /\.worker\.js$/.test(request.url())).length).toBeGreaterThanOrEqual(3);
      expect(complaints).toEqual([]);

      // A tab opens on the first click, even after the window's width has changed.
      for (const width of [1440, 1100]) {
        await page.setViewportSize({ width, height: 900 });
        await page.waitForTimeout(SETTLE_MS);
        for (const name of TAB_NAMES.slice(1)) await openTab(page, name);
      }
      // A reload restores the open tab, although it wasn't edited, and adds no other.
      await openTab(page, 'Deploy');
      await page.waitForTimeout(SETTLE_MS);
      await page.reload();
      await page.getByRole('tab', { name: 'Deploy', selected: true }).waitFor();
      expect(await tabNames(page)).toEqual(TAB_NAMES);
      await pane(page, 'Operation Editor').getByText('Deploy').first().waitFor();
    }));

  it('uses a key pasted into one tab in all tabs, and never stores it', async () => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    await visit(async ({ page }) => {
      const authorization = `Bearer gpu_live_${'ab'.repeat(20)}`;
      expect((await run(page)).headers()).not.toHaveProperty('authorization');

      await openTab(page, 'MyAccount');
      await page.getByRole('button', { name: 'Headers' }).click();
      await fill(page, 'Headers', JSON.stringify({ Authorization: authorization }));
      expect((await run(page)).headers()).toMatchObject({ authorization });

      await openTab(page, 'History');
      await pane(page, 'Headers').getByText('PASTE_YOUR_KEY_HERE').waitFor();
      expect((await run(page)).headers()).toMatchObject({ authorization });

      await page.waitForTimeout(SETTLE_MS);
      expect(JSON.stringify(await context.storageState())).not.toContain('abab');
      await page.reload();
      await page.getByRole('tab', { name: 'History', selected: true }).waitFor();
      expect(await tabNames(page)).toEqual(TAB_NAMES);
      await page.getByRole('button', { name: 'Headers' }).click();
      await pane(page, 'Headers').getByText('PASTE_YOUR_KEY_HERE').waitFor();
      expect((await run(page)).headers()).not.toHaveProperty('authorization');
    }, context);
  });

  it('keeps headers across a reload if "persist headers" is selected', () =>
    visit(async ({ page }) => {
      const authorization = `Bearer gpu_live_${'cd'.repeat(20)}`;
      const chosen = page.getByRole('dialog').getByRole('button', { name: 'On', exact: true });
      await page.getByRole('button', { name: 'Open settings dialog' }).click();
      await chosen.click();
      await page.keyboard.press('Escape');
      await fill(page, 'Headers', JSON.stringify({ Authorization: authorization }));
      await page.waitForTimeout(SETTLE_MS);

      await page.reload();
      await pane(page, 'Headers').getByText('cdcd').waitFor();
      expect((await run(page)).headers()).toMatchObject({ authorization });
      await page.getByRole('button', { name: 'Open settings dialog' }).click();
      expect(await chosen.getAttribute('class')).toContain('active');
    }));
});
