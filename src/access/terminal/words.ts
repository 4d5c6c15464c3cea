import { z } from 'zod';
import { SHELL_ID } from '../../agent/tunnel-protocol.js';
import { INSTANCE_ID } from '../../domain/rules/lifecycle.js';
import type { RefusalReason } from '../tunnels.js';

const side = z.number().int().min(1).max(1_000);
const bytes = z.number().int().min(0);

/**
 * What a page says, in text frames; binary frames are what is typed. `open` comes first, once. `shown` says how many
 * bytes of the shell's output the page has shown in all, by which it is given more. `end` closes the shell.
 */
export const pageWords = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('open'),
    instance: z.string().regex(INSTANCE_ID),
    shell: z.string().regex(SHELL_ID),
    columns: side,
    rows: side,
    /** Bytes of its output that the page has shown before. */
    seen: bytes,
  }),
  z.object({ type: z.literal('resize'), columns: side, rows: side }),
  z.object({ type: z.literal('shown'), bytes }),
  z.object({ type: z.literal('end') }),
]);
export type PageWords = z.infer<typeof pageWords>;

/**
 * What the gateway says; binary frames are output, beginning at byte `from`, and written before this line until `to`. A
 * line that is closed without `exit`, `taken` or `refused` was lost: the page opens another.
 */
export type TerminalWords =
  | { type: 'opened'; from: number; to: number }
  /** The code is null when it is not known. */
  | { type: 'exit'; code: number | null }
  /** Another page shows the shell now. */
  | { type: 'taken' }
  | { type: 'refused'; reason: RefusalReason | 'forbidden'; message: string };
