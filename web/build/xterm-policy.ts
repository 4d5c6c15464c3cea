import type { Plugin } from 'vite';

const XTERM = /@xterm\/xterm\/lib\/xterm\.mjs$/;
/** Library code that the page's policy forbids in any script, with permitted replacements. */
const CHANGES: readonly (readonly [from: string, to: string])[] = [
  ['.createElement("style")', '.createElement("adopted-style")'],
  ['.setAttribute("style",', '.style.cssText=('],
];

/**
 * Replaces the code in xterm.js that writes style elements and attributes (see web/parts/adopted-style.ts). The build
 * fails if a version of xterm.js doesn't contain this code.
 */
export function xtermWithinPolicy(): Plugin {
  return {
    name: 'xterm-within-policy',
    transform(code, id) {
      if (!XTERM.test(id)) return null;
      let changed = code;
      for (const [from, to] of CHANGES) {
        if (!changed.includes(from)) throw new Error(`xterm.js has no ${from} any more: see web/build/xterm-policy.ts`);
        changed = changed.replaceAll(from, to);
      }
      return { code: changed, map: null };
    },
  };
}
