import { z } from 'zod';
import { SHELL_ID } from '../../agent-protocol/tunnel-protocol.js';
import { isLoginUser } from '../../domain/kernel/container-user.js';
import { INSTANCE_ID } from '../../domain/kernel/lifecycle.js';
import type { RefusalReason } from '../tunnels.js';

const side = z.number().int().min(1).max(1_000);
const bytes = z.number().int().min(0);

/**
 * Messages that a page sends in text frames. (Binary frames contain typed input.) `open` is sent first, exactly once.
 * `shown` reports how many bytes of the shell's output the page has displayed in total, which allows the gateway to
 * send more. `end` closes the shell.
 */
export const pageMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('open'),
    instance: z.string().regex(INSTANCE_ID),
    shell: z.string().regex(SHELL_ID),
    columns: side,
    rows: side,
    /** Number of output bytes that the page has already displayed. */
    seen: bytes,
    /** User for a new shell. The default is the container's own user. */
    user: z.string().refine(isLoginUser).optional(),
  }),
  z.object({ type: z.literal('resize'), columns: side, rows: side }),
  z.object({ type: z.literal('shown'), bytes }),
  z.object({ type: z.literal('end') }),
]);
export type PageMessage = z.infer<typeof pageMessage>;

/**
 * Messages that the gateway sends. Binary frames contain output starting at byte `from`, of which the bytes up to `to`
 * were written before this connection. If a connection closes without `exit`, `taken` or `refused`, it was lost, and
 * the page opens another.
 */
export type TerminalMessage =
  | { type: 'opened'; from: number; to: number }
  /** The code is null if it is unknown. */
  | { type: 'exit'; code: number | null }
  /** Another page is displaying the shell now. */
  | { type: 'taken' }
  | { type: 'refused'; reason: RefusalReason | 'forbidden'; message: string };
