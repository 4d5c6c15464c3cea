import type { Labels } from '../../kernel/lifecycle.js';

/** Maximum number of labels per instance. */
export const MAX_LABELS = 16;
/** Maximum combined size of an instance's label keys and values, in bytes. Every list of instances reads them. */
export const MAX_LABEL_BYTES = 2_000;
/** Matches label keys. Excludes `__proto__`, which can't be an ordinary property of a JavaScript object. */
export const LABEL_KEY = /^(?!__proto__$)[A-Za-z0-9_](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9_])?$/;
/** Matches label values. Excludes commas, which separate the requirements of a selector. */
export const LABEL_VALUE = /^[^\p{Cc}\p{Surrogate},]{0,128}$/u;

/** The labels that an instance must have: the pairs, and the keys whose values don't matter. */
export interface LabelSelector {
  pairs: Labels;
  keys: readonly string[];
}

/** Parses `key=value` and `key` requirements separated by commas. Returns null if the text isn't a selector. */
export function parseSelector(text: string): LabelSelector | null {
  const pairs: Record<string, string> = {};
  const keys: string[] = [];
  for (const requirement of text.split(',')) {
    const [key = '', ...rest] = requirement.split('=');
    const value = rest.join('=');
    if (!LABEL_KEY.test(key) || !LABEL_VALUE.test(value)) return null;
    if (rest.length === 0) keys.push(key);
    else if (Object.hasOwn(pairs, key) && pairs[key] !== value) return null;
    else pairs[key] = value;
  }
  return keys.length + Object.keys(pairs).length > MAX_LABELS ? null : { pairs, keys };
}

/** Whether the labels meet all of the selector's requirements. */
export function hasLabels(labels: Labels | null, { pairs, keys }: LabelSelector): boolean {
  const own = labels ?? {};
  return (
    keys.every((key) => Object.hasOwn(own, key)) && Object.entries(pairs).every(([key, value]) => own[key] === value)
  );
}
