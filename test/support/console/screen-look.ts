import type { BrowserContext, Page, Request } from 'playwright-core';
import { SOON_MS } from './pages.js';

/** Characters that control a terminal or change the direction of text. A page must not contain them unescaped. */
const COMMANDS =
  '[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]';
/** Number of Tab presses between two checks of the reached elements. */
const PRESSES = 20;
/** The modifier's code in the DevTools protocol. */
const SHIFT = 8;
/** After this many checks without a new element, only an endless list or a terminal's program remains. */
const PATIENCE = 3;

/** Records from the start which elements listen to clicks, because listeners don't appear as attributes. */
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

/** Tracks the requests of a screen. Must be created before the page is opened. */
export class Settling {
  readonly #pending = new Set<Request>();

  constructor(private readonly page: Page) {
    page.on('request', (request) => {
      // Streams remain open.
      if (!/event-stream/.test(request.headers().accept ?? '')) this.#pending.add(request);
    });
    const ended = (request: Request) => this.#pending.delete(request);
    page.on('requestfinished', ended);
    page.on('requestfailed', ended);
  }

  /** Waits until a screen in any language has its heading and all requested data. */
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

/** Returns elements that move, or would, although the user prefers reduced motion. */
export const movingIn = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('*')]
      .filter((element) => {
        const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(element);
        return animationName !== 'none' || transitionDuration !== '0s' || scrollBehavior !== 'auto';
      })
      .map(({ outerHTML }) => outerHTML.slice(0, 100)),
  );

/** Returns chart texts that are too small. */
export const hardToUse = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const texts = [...document.querySelectorAll<SVGTextElement>('.chart text')].filter((text) => {
      const size = Number.parseFloat(getComputedStyle(text).fontSize);
      const room = text.closest('.scroll');
      return size * text.getScreenCTM()!.a < 11 || (room !== null && room.scrollWidth > room.clientWidth);
    });
    return texts.map(({ outerHTML }) => outerHTML.slice(0, 100));
  });

/** Returns elements that respond to a mouse but not to a keyboard. */
export const mouseOnly = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const { clickable } = window as unknown as { clickable: Set<Element> };
    const keys = 'a[href], button, input, select, textarea, summary, label, dialog, [tabindex]';
    return [...clickable]
      .filter((element) => element.isConnected && !element.matches(`${keys}, .xterm *, .u-wrap, .u-wrap *`))
      .map(({ outerHTML }) => outerHTML.slice(0, 100));
  });

/**
 * Returns usable elements that Tab doesn't reach and elements that don't show their focus. In a terminal, Tab belongs
 * to the program. The terminal's own keys leave it, and the remaining elements are reached from the other end.
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
        // Arrow keys reach the other options.
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
        // A place on a map draws its own focus ring.
        if (each instanceof SVGElement)
          return [...each.children].some((child) => Number.parseFloat(getComputedStyle(child).strokeWidth) >= 2);
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(each);
        return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none';
      });
      if (!isMarked && !element.matches('.xterm *')) unseen.add(element);
    };
    // Tab would continue from the last focus, so this moves before the first element.
    const start = document.createElement('button');
    root.prepend(start);
    start.focus();
    start.remove();
    document.addEventListener('focusin', note);
  });
  const left = () =>
    page.evaluate(() => {
      const { wanted, unseen } = window as unknown as { wanted: Set<Element>; unseen: Set<Element> };
      // Rows of a long list are removed when other rows come into view.
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
      // The keys are sent in order, without waiting until the previous one is drawn.
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
    // Shift+Tab leads from the first element to the end of the page, and from a terminal to the elements before it.
    if (!now.isInTerminal) await page.locator('.skip').focus();
    await go('Shift+Tab');
  }
  await keyboard.detach();
  return [...now.missing, ...now.unseen];
}

/** Returns control characters in the page's text or in attributes that are read aloud, with their context. */
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
