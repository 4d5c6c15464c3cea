import { checkOptional } from '../kernel/field.js';
import { instanceFields } from './fields.js';
import { type LabelSelector, parseSelector } from './rules/labels.js';

/** Returns the parsed selector, or null if none is given. Throws invalid_request. */
export function selectorOf(text: string | null | undefined): LabelSelector | null {
  const checked = checkOptional('labels', instanceFields.labelSelector, text);
  return checked === undefined ? null : parseSelector(checked);
}
