import fc from 'fast-check';

/**
 * Any code point as a string, including lone surrogates. After its first use fast-check's own unit `binary` keeps a
 * table of all 1.1 million in memory.
 */
export const anyCodePoint = fc.integer({ min: 0, max: 0x10_ffff }).map((point) => String.fromCodePoint(point));
