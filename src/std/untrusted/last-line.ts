/** Number of bytes at the end of a program's output that are searched for the last line. */
const MAX_BYTES = 4_096;
const MAX_CHARACTERS = 300;

/** Keeps the end of a program's output as it arrives. */
export class LastBytes {
  bytes: Buffer = Buffer.alloc(0);

  push(piece: Buffer): void {
    const kept = this.bytes.subarray(-Math.max(0, MAX_BYTES - piece.length));
    this.bytes = piece.length >= MAX_BYTES ? Buffer.from(piece.subarray(-MAX_BYTES)) : Buffer.concat([kept, piece]);
  }
}

/**
 * Returns the last line of a program's output, shortened to fit a message. Returns an empty string if there is no
 * output.
 */
export function lastLine(printed: Buffer): string {
  const text = printed.subarray(-MAX_BYTES).toString('utf8').trim();
  return text.slice(text.lastIndexOf('\n') + 1).slice(-MAX_CHARACTERS);
}
