import Negotiator from 'negotiator';

/** Keeps quoted texts whole, including an unterminated one, so that each character is read once. */
const PIECES = /"(?:\\.|[^"\\])*"?|[,;]|[^",;]+/g;

/**
 * Finds the media type that an Accept header prefers; undefined if none matches. Parameters other than the weight don't
 * exclude a type: every answer is UTF-8, regardless of a range's charset.
 */
export function preferredType(accept: string, available: string[]): string | undefined {
  return new Negotiator({ headers: { accept: withoutParameters(accept) } }).mediaType(available);
}

function withoutParameters(accept: string): string {
  const ranges: string[][] = [['']];
  for (const [piece] of accept.matchAll(PIECES)) {
    const range = ranges.at(-1)!;
    if (piece === ',') ranges.push(['']);
    else if (piece === ';') range.push('');
    else range[range.length - 1] += piece;
  }
  return ranges.map(([type, ...rest]) => [type, ...rest.filter((each) => /^\s*q\s*=/i.test(each))].join(';')).join(',');
}
