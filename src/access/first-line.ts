import { firstEvent } from './ssh/first-event.js';
import type { Tunnel } from './tunnels.js';

/** Maximum length of the line. */
const MAX_BYTES = 4_096;

/**
 * Returns the first line of a command's output, without its line break, and the bytes received after it. Throws if
 * there is no line.
 */
export async function firstLine(tunnel: Tunnel): Promise<[line: string, rest: Buffer]> {
  let read: Buffer = Buffer.alloc(0);
  while (!read.subarray(0, MAX_BYTES).includes(10)) {
    if (read.length >= MAX_BYTES) throw new Error('its first line is too long');
    const chunk = tunnel.read() as Buffer | null;
    if (chunk !== null) read = Buffer.concat([read, chunk]);
    else if (tunnel.readableEnded || tunnel.destroyed) throw new Error('no shell');
    else await firstEvent(tunnel, 'readable', 'close');
  }
  const end = read.indexOf(10);
  return [read.subarray(0, end).toString('latin1'), read.subarray(end + 1)];
}
