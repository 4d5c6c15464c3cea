import fc from 'fast-check';

/**
 * Generates any code point as a string, including lone surrogates. It replaces fast-check's own unit `binary`, which
 * keeps a table of all 1.1 million code points in memory after its first use.
 */
export const anyCodePoint = fc.integer({ min: 0, max: 0x10_ffff }).map((point) => String.fromCodePoint(point));
