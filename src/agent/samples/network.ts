import { readFile } from 'node:fs/promises';

export interface NetworkCounts {
  bytesIn: number;
  bytesOut: number;
}

/**
 * Returns the bytes received and sent by a process's network namespace since its creation, excluding loopback, or null
 * if the process has ended.
 */
export async function networkCountsOf(pid: number): Promise<NetworkCounts | null> {
  const text = await readFile(`/proc/${pid}/net/dev`, 'utf8').catch(() => null);
  return text === null ? null : readNetworkCounts(text);
}

/**
 * Parses the lines of /proc/net/dev: a name, followed by eight numbers for received and eight for sent traffic. The
 * first number of each group is the byte count.
 */
export function readNetworkCounts(text: string): NetworkCounts {
  const counts = { bytesIn: 0, bytesOut: 0 };
  for (const line of text.split('\n')) {
    const [, name, rest = ''] = /^\s*(\S+):\s*(.*)$/.exec(line) ?? [];
    const numbers = rest.trim().split(/\s+/).map(Number);
    if (name === undefined || name === 'lo' || numbers.some(Number.isNaN)) continue;
    const { 0: bytesIn, 8: bytesOut } = numbers;
    if (bytesIn === undefined || bytesOut === undefined) continue;
    counts.bytesIn += bytesIn;
    counts.bytesOut += bytesOut;
  }
  return counts;
}
