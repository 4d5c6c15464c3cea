import type { Page } from 'playwright-core';
import { until } from '../until.js';
import { SOON_MS } from './pages.js';

export const PROMPT = /[#$] ?$/;

/** Returns the terminal's screen without empty space at its end. */
export async function rows(page: Page): Promise<string> {
  const texts = await page.locator('.xterm-rows > div').allInnerTexts();
  return texts
    .map((text) => text.replaceAll('\u00a0', ' ').trimEnd())
    .join('\n')
    .trimEnd();
}

export function waitForText(page: Page, words: string | RegExp): Promise<true> {
  const look = async () => {
    const text = await rows(page);
    return typeof words === 'string' ? text.includes(words) : words.test(text);
  };
  return until(`${words} is on the screen`, look, SOON_MS).catch(async (error) => {
    throw new Error(`${error.message}, but:\n${await rows(page)}\n${await page.locator('main').innerText()}`);
  }) as Promise<true>;
}

export async function enter(page: Page, line: string): Promise<void> {
  await page.locator('.xterm').click();
  await page.keyboard.type(line);
  await page.keyboard.press('Enter');
}
