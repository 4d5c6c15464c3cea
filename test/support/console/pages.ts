import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Browser, BrowserContext, Locator, Page, Request } from 'playwright-core';
import { expect } from 'vitest';
import { isLong } from '../long.js';

/** Long enough for a loaded machine. Waits end as soon as their condition holds. */
export const SOON_MS = 30_000;

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

export interface Visit {
  page: Page;
  requests: Request[];
  /** Exceptions and errors on the console, including policy violations. */
  complaints: string[];
}

export interface Look {
  width?: number;
  scheme?: 'light' | 'dark';
  /** The language that the browser requests. */
  locale?: string;
}

const pathOf = (url: string): string => url.slice(new URL(url).origin.length);

/** Anyone who has a key. */
interface KeyHolder {
  key: string;
}

/**
 * Containers of other tests start and stop with their networks, which makes Chromium abort requests. A page retries its
 * requests automatically. An aborted navigation is reported as one to Chromium's own error page.
 */
export const isOfMachine = (words: string) =>
  words.includes('net::ERR_NETWORK_CHANGED') || words.includes('chrome-error://chromewebdata');

/** Pages of the console in a real browser. For the gateway, each context is a separate browser. */
export class Pages {
  readonly #contexts = new Set<BrowserContext>();

  constructor(
    readonly browser: Browser,
    /** The gateway's address. */
    readonly address: string,
  ) {}

  /** Opens a context, signed in as the given key holder. */
  async context(
    owner: KeyHolder | null,
    { width = 1_400, scheme = 'light', locale = 'en-US' }: Look = {},
  ): Promise<BrowserContext> {
    const context = await this.browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      reducedMotion: 'reduce',
      locale,
      timezoneId: 'Europe/Berlin',
    });
    this.#contexts.add(context);
    context.on('close', () => this.#contexts.delete(context));
    if (owner !== null) {
      const headers = { origin: this.address };
      const data = { key: owner.key };
      const answer = await context.request.post(`${this.address}/console/session`, { headers, data });
      expect(answer.status()).toBe(201);
    }
    return context;
  }

  async visit(path: string, context: BrowserContext): Promise<Visit> {
    const page = await context.newPage();
    page.setDefaultTimeout(SOON_MS);
    const requests: Request[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => requests.push(request));
    const { goto } = page;
    page.goto = (...where) =>
      goto
        .apply(page, where)
        .catch((error) => (isOfMachine(String(error)) ? goto.apply(page, where) : Promise.reject(error)));
    page.on('console', (message) => {
      const of = message.text().startsWith('Failed to load')
        ? ` of ${pathOf(message.location().url)} on ${pathOf(page.url())}`
        : '';
      if (message.type() === 'error' && !isOfMachine(message.text())) complaints.push(message.text() + of);
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    await page.goto(this.address + path);
    return { page, requests, complaints };
  }

  async with<T>(path: string, owner: KeyHolder | null, work: (visit: Visit) => Promise<T>, look?: Look): Promise<T> {
    const context = await this.context(owner, look);
    try {
      return await work(await this.visit(path, context));
    } finally {
      await context.close();
    }
  }

  /** Closes what a failed test left open. */
  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close();
  }
}

/** Returns the title of a screen. */
export function heading(page: Page, name: string | RegExp): Locator {
  return page.getByRole('heading', { level: 1, name });
}

/** Returns the exact value of an amount that the page keeps up to date, which it shows on hover. */
export async function figure(page: Page, name: string): Promise<number> {
  const text = (await page.locator(`[data-figure="${name}"] [title]`).getAttribute('title')) ?? '';
  return Number(text.replace(/[^\d.−]/g, '').replace('−', '-'));
}

/** Returns axe's findings as text. */
export async function faultsIn(page: Page, within = 'body', rules: object = {}): Promise<string[]> {
  // The policy blocks injected scripts, so axe is evaluated instead, once per document.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(await readFile(AXE, 'utf8'));
  // With these options, axe doesn't describe faultless elements or write selectors, which halves its time.
  const options = JSON.stringify({ resultTypes: ['violations'], selectors: false, ...rules });
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(within)}, ${options})`)) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.map(({ id, nodes }) => `${page.url()}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Returns how many pixels wider the page is than its window. */
export function beyondWindow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

const WIDE = 1_400;
const WIDTHS = isLong ? [320, 390, 640, WIDE] : [320];
const SCHEMES = isLong ? (['light', 'dark'] as const) : (['light'] as const);

/**
 * Checks a state that no walk through the screens reaches, with axe and in a narrow window. The long run checks it in
 * both themes and at every width. Leaves the page wide and light.
 */
export async function expectSound(page: Page, within = 'body'): Promise<void> {
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 900 });
      expect(await beyondWindow(page), `at ${width} px`).toBeLessThanOrEqual(0);
      if (isLong) expect(await faultsIn(page, within), `${colorScheme} at ${width} px`).toEqual([]);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: WIDE, height: 900 });
  if (!isLong) expect(await faultsIn(page, within)).toEqual([]);
}

/** Like `expectSound`, but only in the long run, for a state that the walk through the screens also reaches. */
export async function expectSoundInLongRun(page: Page, within?: string): Promise<void> {
  if (isLong) await expectSound(page, within);
}
