import type { BrowserContext, Page, Request } from 'playwright-core';
import { SOON_MS } from './pages.js';

/** What commands a terminal, and what turns the direction of text: nothing of it may stand in a page as it is. */
const COMMANDS =
  '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]';
/** Presses of Tab between two looks at what was reached. */
const PRESSES = 20;
/** As a modifier in the protocol of Chromium's tools. */
const SHIFT = 8;
/** So many looks without another element: what follows is a list without end, or the program in a terminal. */
const PATIENCE = 3;

/** Notes from the beginning which elements listen to clicks; the page's own listeners are none of an attribute. */
export async function watchClicks(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    const clickable = new Set<Element>();
    Object.assign(window, { clickable });
    const { addEventListener: original } = EventTarget.prototype;
    EventTarget.prototype.addEventListener = function add(this: EventTarget, ...given: unknown[]) {
      if (given[0] === 'click' && this instanceof Element) clickable.add(this);
      return original.apply(this, given as Parameters<typeof original>);
    };
  });
}

/** What a screen asks the service: opened by its context before the page. */
export class Settling {
  readonly #pending = new Set<Request>();

  constructor(private readonly page: Page) {
    page.on('request', (request) => {
      // Streams stay open.
      if (!/event-stream/.test(request.headers().accept ?? '')) this.#pending.add(request);
    });
    const ended = (request: Request) => this.#pending.delete(request);
    page.on('requestfinished', ended);
    page.on('requestfailed', ended);
  }

  /** Waits for a screen that has its heading and all that it asked for, in whatever language. */
  async settled(): Promise<void> {
    await this.page.locator('main h1').first().waitFor({ timeout: SOON_MS });
    const end = performance.now() + SOON_MS;
    for (let quiet = 0; quiet < 3; ) {
      await this.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
      quiet = this.#pending.size === 0 ? quiet + 1 : 0;
      if (performance.now() > end) throw new Error(`${this.page.url()} does not come to rest`);
    }
  }
}

/** What moves, or would, though its owner wants none of that. */
export const movingIn = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter((element) => {
        const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(element);
        return animationName !== 'none' || transitionDuration !== '0s' || scrollBehavior !== 'auto';
      })
      .map(({ outerHTML }) => outerHTML.slice(0, 100)),
  );

/** Where a finger would scroll the price sheet in place of the page, and text of charts that is drawn too small. */
export const hardToUse = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const sheets = [...document.querySelectorAll('.sheet')].filter((sheet) => sheet.scrollHeight > sheet.clientHeight);
    const texts = [...document.querySelectorAll<SVGTextElement>('.chart text')].filter((text) => {
      const size = Number.parseFloat(getComputedStyle(text).fontSize);
      const room = text.closest('.scroll');
      return size * text.getScreenCTM()!.a < 11 || (room !== null && room.scrollWidth > room.clientWidth);
    });
    return [...sheets, ...texts].map(({ outerHTML }) => outerHTML.slice(0, 100));
  });

/** What a mouse can press and a keyboard cannot. */
export const mouseOnly = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const { clickable } = window as unknown as { clickable: Set<Element> };
    const keys = 'a[href], button, input, select, textarea, summary, label, dialog, [tabindex]';
    return [...clickable]
      .filter((element) => element.isConnected && !element.matches(`${keys}, .xterm *, .u-wrap, .u-wrap *`))
      .map(({ outerHTML }) => outerHTML.slice(0, 100));
  });

/**
 * What Tab alone does not reach of what can be used, and what has the focus without showing it. In a terminal Tab is the
 * program's: it is left by its own keys, and the rest reached from the other end.
 */
export async function unreachedByKeyboard(page: Page): Promise<string[]> {
  await page.evaluate(() => {
    const wanted = new Set<Element>();
    const unseen = new Set<Element>();
    const radios = new Map<string, HTMLInputElement>();
    const root = document.querySelector('dialog[open]') ?? document.body;
    for (const element of root.querySelectorAll<HTMLElement>(
      'a[href], button, input, select, textarea, summary, [tabindex]',
    )) {
      const { width, height } = element.getBoundingClientRect();
      const isShown = element.checkVisibility({ visibilityProperty: true }) && width > 0 && height > 0;
      const isSkip = element.classList.contains('skip');
      if (element.tabIndex < 0 || element.matches(':disabled') || !(isShown || isSkip)) continue;
      if (element instanceof HTMLInputElement && element.type === 'radio') {
        // Arrows lead to the others.
        const known = radios.get(element.name);
        if (known === undefined || element.checked) radios.set(element.name, element);
      } else wanted.add(element);
    }
    for (const radio of radios.values()) wanted.add(radio);
    Object.assign(window, { wanted, unseen });
    const note = () => {
      const element = document.activeElement;
      if (element === null || element === document.body) return;
      wanted.delete(element);
      const rings = [element, element.closest('label, .choice'), element.closest('.terminal-place')];
      const isMarked = rings.some((each) => {
        if (each == null) return false;
        // A place on a map has its ring drawn.
        if (each instanceof SVGElement)
          return [...each.children].some((child) => Number.parseFloat(getComputedStyle(child).strokeWidth) >= 2);
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(each);
        return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none';
      });
      if (!isMarked && !element.matches('.xterm *')) unseen.add(element);
    };
    // Where the focus was last, Tab would go on: it begins before the first element.
    const start = document.createElement('button');
    root.prepend(start);
    start.focus();
    start.remove();
    document.addEventListener('focusin', note);
  });
  const left = () =>
    page.evaluate(() => {
      const { wanted, unseen } = window as unknown as { wanted: Set<Element>; unseen: Set<Element> };
      // Rows of a long list go when others come into sight.
      const missing = [...wanted].filter((element) => element.isConnected && !element.matches(':disabled'));
      return {
        isInTerminal: document.activeElement?.closest('.xterm') != null,
        missing: missing.map(({ outerHTML }) => `not reached: ${outerHTML.slice(0, 120)}`),
        unseen: [...unseen].map(({ outerHTML }) => `shows no focus: ${outerHTML.slice(0, 120)}`),
      };
    });
  let now = await left();
  const keyboard = await page.context().newCDPSession(page);
  const go = async (key: 'Tab' | 'Shift+Tab') => {
    const tab = { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9, modifiers: key === 'Tab' ? 0 : SHIFT };
    for (let idle = 0; now.missing.length > 0 && idle < PATIENCE; ) {
      const before = now.missing.length;
      // In their order, none of which waits for the one before to be drawn.
      const presses = Array.from({ length: PRESSES }, () => [
        keyboard.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', ...tab }),
        keyboard.send('Input.dispatchKeyEvent', { type: 'keyUp', ...tab }),
      ]);
      await Promise.all(presses.flat());
      now = await left();
      if (now.isInTerminal) {
        await page.keyboard.press('Control+Shift+F6');
        return;
      }
      idle = now.missing.length < before ? 0 : idle + 1;
    }
  };
  await go('Tab');
  if (now.missing.length > 0) {
    // Backwards from the first lies the end of the page, and from a terminal's own place what stands before it.
    if (!now.isInTerminal) await page.locator('.skip').focus();
    await go('Shift+Tab');
  }
  await keyboard.detach();
  return [...now.missing, ...now.unseen];
}

/** Characters that are obeyed rather than seen, with where they stand: in the text of the page or an attribute that is read. */
export const commandsIn = (page: Page): Promise<string[]> =>
  page.evaluate((commands) => {
    const pattern = new RegExp(commands, 'u');
    const found: string[] = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const parent = node.parentElement!;
      if (pattern.test(node.nodeValue!)) found.push(`${parent.outerHTML.slice(0, 60)}: ${escape(node.nodeValue!)}`);
    }
    for (const element of document.querySelectorAll('*')) {
      for (const name of ['title', 'aria-label', 'alt', 'placeholder', 'aria-description']) {
        const value = element.getAttribute(name);
        if (value !== null && pattern.test(value)) found.push(`${element.tagName} ${name}: ${escape(value)}`);
      }
    }
    if (pattern.test(document.title)) found.push(`the title: ${escape(document.title)}`);
    return found.map((each) => each.slice(0, 200));
  }, COMMANDS);
