import fc from 'fast-check';

/**
 * Any code point as a text, lone surrogates included. fast-check's own unit `binary` keeps a table of all 1.1 million in memory
 * once it was used.
 */
export const anyCodePoint = fc.integer({ min: 0, max: 0x10_ffff }).map((point) => String.fromCodePoint(point));
