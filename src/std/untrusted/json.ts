/** Maximum nesting depth of arrays and objects. Requests to this service have at most a dozen levels. */
export const MAX_JSON_DEPTH = 64;

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Thrown for JSON with too many levels or values. The message names the limit. */
export class JsonTooLarge extends Error {}

export interface JsonBounds {
  maxDepth?: number;
  /** Maximum number of values in total, because each takes far more time and memory than its bytes suggest. */
  maxValues?: number;
}

/**
 * Parses JSON from an untrusted source. Throws JsonTooLarge before parsing if the JSON exceeds the limits, because code
 * that later serializes or compares the value may recurse. Throws SyntaxError for text that isn't JSON.
 */
export function parseJson(bytes: Buffer, bounds: JsonBounds = {}): unknown {
  checkJson(bytes, bounds);
  return JSON.parse(bytes.toString('utf8'));
}

/** Throws JsonTooLarge if the text exceeds the limits. Does not check whether it is JSON. */
export function checkJson(
  bytes: Buffer,
  { maxDepth = MAX_JSON_DEPTH, maxValues = Number.POSITIVE_INFINITY }: JsonBounds = {},
): void {
  // Each level and each value takes at least one byte.
  if (bytes.length <= Math.min(maxDepth, maxValues)) return;
  let depth = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
    } else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      depth += 1;
      values += 1;
      if (depth > maxDepth) throw new JsonTooLarge(`the JSON may nest at most ${maxDepth} levels`);
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth -= 1;
    else if (byte === COMMA) values += 1;
    if (values > maxValues) throw new JsonTooLarge(`the JSON may have at most ${maxValues} values`);
  }
}

/** Returns the index of the quote that ends the string starting at `at`. */
function endOfString(bytes: Buffer, at: number): number {
  for (let index = at + 1; index < bytes.length; index += 1) {
    if (bytes[index] === BACKSLASH) index += 1;
    else if (bytes[index] === QUOTE) return index;
  }
  return bytes.length;
}
