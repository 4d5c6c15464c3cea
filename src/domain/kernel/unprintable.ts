/** Matches control characters, invisible ones, and those that change the direction of text or break lines. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
