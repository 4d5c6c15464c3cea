import type { Page } from 'playwright-core';

/** Common English words and short labels that no other language of the console has. */
const WORDS =
  'the|and|of|your|with|is|are|not|what|by|for|from|to|it|its|this|that|when|where|now|running|stopped|destroyed|find|sign|keys|rent|show|any|free|cost|costs|open|copy|delete|cancel|close|add|change|search|save|send|spent|loading';
/** Elements without natural language, or with marked text from other people or the service. */
const OTHERS = '[lang="en"], code, kbd, pre, samp, .mono, script, style';
const SAID = ['aria-label', 'aria-description', 'title', 'placeholder', 'alt', 'data-label'];

/** Returns the English words in a page of another language, each with its context. */
export function englishIn(page: Page, within: string): Promise<string[]> {
  return page.evaluate(
    ({ words, others, said, within }) => {
      // "On-Demand" is the industry's term in every language.
      const pattern = new RegExp(`(?<![-\\p{L}])(?:${words})(?![-\\p{L}])`, 'iu');
      const texts: string[] = [];
      for (const root of document.querySelectorAll(within)) {
        const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
        for (let node = nodes.nextNode(); node !== null; node = nodes.nextNode())
          if (node.parentElement!.closest(others) === null) texts.push(node.nodeValue!);
        for (const element of [root, ...root.querySelectorAll('*')])
          if (element.closest(others) === null) texts.push(...said.map((name) => element.getAttribute(name) ?? ''));
      }
      if (document.querySelector(within) === null) return [`nothing is ${within}`];
      texts.push(document.title.split(' · ')[0]!);
      return [...new Set(texts)].filter((text) => pattern.test(text));
    },
    { words: WORDS, others: OTHERS, said: SAID, within },
  );
}
