import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import express, { type RequestHandler } from 'express';
import { getOperationAST, getVariableValues, parse, validate } from 'graphql';
import { createYoga } from 'graphql-yoga';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GRAPHIQL_EXAMPLES } from '../../src/http/graphiql/examples.js';
import { createGraphiql } from '../../src/http/graphiql/graphiql.js';
import { buildSchema } from '../../src/schema/index.js';
import { openChromium } from '../support/chromium.js';
import { needs } from '../support/tools.js';

const BROWSER_ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8';
const BUILD_SCRIPT = join(import.meta.dirname, '../../scripts/build-graphiql.mjs');
/** After an edit GraphiQL reads the operation's name and stores its state with a delay. */
const SETTLE_MS = 700;
const TAB_NAMES = ['PriceSheet', 'CheapestOffers', 'MyAccount', 'Deploy', 'StopStartDestroy', 'History', 'LiveOffers'];

interface Server {
  origin: string;
  close(): Promise<void>;
}

const schema = buildSchema();
let assetsDir: string;
let server: Server;

beforeAll(async () => {
  assetsDir = await mkdtemp(join(tmpdir(), 'graphiql-'));
  await build();
  server = await serve(assetsDir);
});

afterAll(async () => {
  await server?.close();
  await rm(assetsDir, { recursive: true, force: true });
});

function build() {
  return promisify(execFile)(process.execPath, [BUILD_SCRIPT, assetsDir]);
}

/** GraphiQL before a GraphQL endpoint whose fields have nothing to read from. */
async function serve(assetsDir: string): Promise<Server> {
  const app = express();
  app.use(createGraphiql({ endpoint: '/graphql', assetsDir }));
  const context = { deps: {}, caller: null, onReplayed() {} };
  app.use(
    '/graphql',
    createYoga({ schema, context, graphiql: false, landingPage: false, logging: false }) as unknown as RequestHandler,
  );
  const listening = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => listening.once('listening', resolve));
  return {
    origin: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => listening.close(() => resolve())),
  };
}

describe('example operations', () => {
  it.each(GRAPHIQL_EXAMPLES.map((example, index) => ({ name: TAB_NAMES[index], ...example })))(
    '$name is valid and its variables are accepted',
    ({ name, query, variables = {} }) => {
      const document = parse(query);
      const operation = getOperationAST(document, null);

      expect(validate(schema, document)).toEqual([]);
      expect(operation?.name?.value).toBe(name);
      expect(getVariableValues(schema, operation?.variableDefinitions ?? [], variables).errors).toBeUndefined();
      expect(query).toMatch(/^# /);
    },
  );
});

describe('GraphiQL over HTTP', () => {
  const get = (path: string, headers: Record<string, string>) => fetch(server.origin + path, { headers });

  it('answers a browser that opens the endpoint with the page, under a policy without foreign origins', async () => {
    const response = await get('/graphql', { accept: BROWSER_ACCEPT });

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('vary')).toContain('Accept');
    const policy = response.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none';/);
    expect(policy).toMatch(/script-src 'self' 'sha256-[^']+'$/);
    expect(policy).not.toMatch(/https?:|\*/);
    expect(await response.text()).toContain('<title>GPU rental gateway – GraphiQL</title>');
  });

  it.each([
    ['a query in the address', `/graphql?query=${encodeURIComponent('{ __typename }')}`, BROWSER_ACCEPT],
    ['a client that wants JSON', '/graphql', 'application/json'],
    ['a client that takes anything', '/graphql', '*/*'],
  ])('leaves %s to GraphQL', async (_case, path, accept) => {
    const response = await get(path, { accept });

    expect(response.headers.get('content-type')).toMatch(/json/);
  });

  it('serves the files of the page compressed, and to be kept for ever', async () => {
    const page = await (await get('/graphql', { accept: BROWSER_ACCEPT })).text();
    const path = `/${/src="(graphiql\/[^"]+\.js)"/.exec(page)?.[1]}`;

    const compressed = await get(path, { 'accept-encoding': 'gzip' });
    const plain = await get(path, { 'accept-encoding': 'identity' });

    expect(compressed.headers.get('content-encoding')).toBe('gzip');
    expect(plain.headers.get('content-encoding')).toBeNull();
    for (const response of [compressed, plain]) {
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('vary')).toBe('Accept-Encoding');
    }
    expect(await compressed.text()).toBe(await plain.text());
  });

  it('says how to build the page when it is not built', async () => {
    const unbuilt = await serve(join(assetsDir, 'nowhere'));
    try {
      const response = await fetch(`${unbuilt.origin}/graphql`, { headers: { accept: BROWSER_ACCEPT } });
      expect(response.status).toBe(503);
      expect(await response.text()).toContain('npm run build');
    } finally {
      await unbuilt.close();
    }
  });

  it('is not built again while nothing changed', async () => {
    const before = await stat(join(assetsDir, 'graphiql.js'));
    await build();
    const after = await stat(join(assetsDir, 'graphiql.js'));

    expect(after.mtimeMs).toBe(before.mtimeMs);
    expect(await readFile(join(assetsDir, 'version'), 'utf8')).toMatch(/^\d+\.\d+\.\d+-[0-9a-f]{8}$/);
  });
});

describe('GraphiQL in Chromium', needs('chromium'), () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await openChromium();
  });

  afterAll(async () => {
    await browser?.close();
  });

  interface Visit {
    page: Page;
    requests: Request[];
    /** Errors on the console, breaches of the policy among them, and exceptions. */
    complaints: string[];
  }

  async function visit(work: (visit: Visit) => Promise<void>, context?: BrowserContext): Promise<void> {
    const own = context ?? (await browser.newContext({ viewport: { width: 1440, height: 900 } }));
    try {
      const page = await own.newPage();
      page.setDefaultTimeout(10_000);
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
    // The brackets that the editor closed by itself.
    await page.keyboard.press('Control+Shift+End');
    await page.keyboard.press('Delete');
  }

  /** Presses the run button; the request that this sends. */
  async function run(page: Page): Promise<Request> {
    await page.waitForTimeout(SETTLE_MS);
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await page.getByRole('button', { name: /^Execute query/ }).click();
    return sent;
  }

  it('shows the examples and the documentation and runs a query, all from its own origin', () =>
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
    }));

  it('opens a tab at the first click, also after the window changed its width', () =>
    visit(async ({ page }) => {
      for (const width of [1440, 1100]) {
        await page.setViewportSize({ width, height: 900 });
        await page.waitForTimeout(SETTLE_MS);
        for (const name of TAB_NAMES.slice(1)) await openTab(page, name);
      }
    }));

  it('comes back to the tab that was open, though nothing was edited, and adds none', () =>
    visit(async ({ page }) => {
      const comeBack = async (name: string) => {
        await page.waitForTimeout(SETTLE_MS);
        await page.reload();
        await page.getByRole('tab', { name, selected: true }).waitFor();
        expect(await tabNames(page)).toEqual(TAB_NAMES);
        await pane(page, 'Operation Editor').getByText(name).first().waitFor();
      };
      await comeBack('PriceSheet');
      await openTab(page, 'Deploy');
      await comeBack('Deploy');
    }));

  it('sends a key pasted into one tab from the others too, and keeps none', async () => {
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

  it('keeps headers over a reload when "persist headers" is chosen', () =>
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
