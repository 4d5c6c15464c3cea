import { isUtf8 } from 'node:buffer';
import { parseJson } from '../std/untrusted/json.js';

export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses the bytes as a JSON object. Returns null if they aren't one. */
export function readObject(bytes: Buffer): Json | null {
  if (!isUtf8(bytes)) return null;
  try {
    const value = parseJson(bytes);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Whether the value consists of visible ASCII characters, so that it may appear in a log, a path or a ledger line. */
export function isName(value: unknown, maxLength: number): value is string {
  return typeof value === 'string' && value.length <= maxLength && /^[\x21-\x7e]+$/.test(value);
}
