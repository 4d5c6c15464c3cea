import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { Logo } from '../http/console/brand.js';
import { ConfigError } from './config.js';

const MAX_BYTES = 65_536;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COMMENTS = String.raw`(?:<!--(?:(?!-->)[^])*-->\s*)*`;
/** Matches the start of an SVG file, whose root may follow an XML declaration, comments and a document type. */
const SVG = new RegExp(
  String.raw`^\uFEFF?\s*(?:<\?xml[^>]*\?>\s*)?${COMMENTS}(?:<!DOCTYPE[^>[]*>\s*${COMMENTS})?<svg[\s>]`,
);

/** Reads the operator's logo. Throws a ConfigError if the file can't be one. */
export function readLogo(path: string): Logo {
  const content = readSmallFile(path);
  if (content.subarray(0, PNG.length).equals(PNG)) return { type: 'image/png', content };
  if (isSvg(content)) return { type: 'image/svg+xml', content };
  throw refused(path, 'is neither an SVG nor a PNG file');
}

function readSmallFile(path: string): Buffer {
  const file = open(path);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw refused(path, 'is not a file');
    if (found.size > MAX_BYTES) throw refused(path, `has ${found.size} bytes, more than ${MAX_BYTES}`);
    // The file may have grown in the meantime.
    const content = Buffer.alloc(MAX_BYTES);
    return content.subarray(0, readSync(file, content));
  } finally {
    closeSync(file);
  }
}

function open(path: string): number {
  try {
    // Opening a named pipe would otherwise wait for a writer.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw refused(path, `can't be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function isSvg(content: Buffer): boolean {
  try {
    return SVG.test(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content));
  } catch {
    return false;
  }
}

const refused = (path: string, why: string) =>
  new ConfigError(`CONSOLE_LOGO must be an SVG or PNG file of at most 64 kB: ${path} ${why}`);
