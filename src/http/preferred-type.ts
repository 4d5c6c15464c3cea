import Negotiator from 'negotiator';

/** Splits a header but keeps quoted strings whole, even unterminated ones, so that each character is read only once. */
const PIECES = /"(?:\\.|[^"\\])*"?|[,;]|[^",;]+/g;

/**
 * Returns the media type that an Accept header prefers, or undefined if none matches. Parameters other than the weight
 * are ignored, because every response is in UTF-8 regardless of a range's charset.
 */
export function preferredType(accept: string, available: string[]): string | undefined {
  return new Negotiator({ headers: { accept: withoutParameters(accept) } }).mediaType(available);
}

function withoutParameters(accept: string): string {
  let range = [''];
  const ranges = [range];
  for (const [piece] of accept.matchAll(PIECES)) {
    if (piece === ',') {
      range = [''];
      ranges.push(range);
    } else if (piece === ';') range.push('');
    else range[range.length - 1] += piece;
  }
  return ranges.map(([type, ...rest]) => [type, ...rest.filter((each) => /^\s*q\s*=/i.test(each))].join(';')).join(',');
}
