const LEVELS = [
  ['bad', /\b(?:error|fatal|critical|panic|traceback)\b/i],
  ['bad', /\b[A-Z]\w*(?:Error|Exception)\b/],
  ['warn', /\bwarn(?:ing)?\b/i],
] as const;
/** Only the beginning of a line is searched, because programs name the level there. */
const LEVEL_CHARACTERS = 120;

/** Returns whether a line names an error or a warning, as programs do in the most common log formats. */
export const levelOf = (text: string): 'bad' | 'warn' | null =>
  LEVELS.find(([, pattern]) => pattern.test(text.slice(0, LEVEL_CHARACTERS)))?.[0] ?? null;
