import { setTimeout as sleep } from 'node:timers/promises';
import type { GpuClient, Runtime } from '../client/index.js';
import { RunFailed } from './failure.js';

/**
 * Delay before the first poll. With a cached image, a container starts in well under a second, whereas a pull takes
 * minutes.
 */
const FIRST_POLL_AFTER_MS = 100;
const POLL_EVERY_MS = 1_000;
const GROWTH = 1.5;
/** Maximum wait, which is long enough for a large image on a slow connection. The rental continues in any case. */
const WAIT_MS = 3_600_000;
const HAS_ENDED = ['FAILED', 'EXITED'];
/** Phases that may still belong to the previous run, between a stop and a start. */
const IS_DOWN = ['STOPPED', 'ERASED'];

/**
 * Resolves to true once the container is running, or to false for an instance without a container. Rejects with
 * RunFailed if the container can't run or doesn't run within an hour, or with the signal's reason. `describe` formats
 * the runtime.
 */
export async function untilRunning(
  client: GpuClient,
  id: string,
  { describe, onRuntime, signal }: WaitOptions,
): Promise<boolean> {
  const endsAt = Date.now() + WAIT_MS;
  for (let pauseMs = FIRST_POLL_AFTER_MS; Date.now() < endsAt; pauseMs = Math.min(pauseMs * GROWTH, POLL_EVERY_MS)) {
    const runtime = await client.instances.runtime(id, { signal });
    if (runtime === null) return false;
    if (runtime.phase === 'RUNNING') return true;
    const isDown = IS_DOWN.includes(runtime.phase) && (await client.instances.get(id, { signal })).status !== 'running';
    if (isDown || HAS_ENDED.includes(runtime.phase))
      throw new RunFailed(`${id} is not running: ${describe(runtime)}${codeOf(runtime)}`, id);
    onRuntime?.(runtime);
    await sleep(pauseMs, undefined, { signal }).catch((error) => {
      // Node rejects with its own error instead of the signal's reason.
      signal?.throwIfAborted();
      throw error;
    });
  }
  throw new RunFailed(`${id} is not running yet; \`gpu show ${id}\` shows its progress`, id);
}

function codeOf({ exitCode }: Runtime): string {
  return exitCode === null ? '' : `, exit code ${exitCode}`;
}

export interface WaitOptions {
  describe(runtime: Runtime): string;
  onRuntime?: ((runtime: Runtime) => void) | undefined;
  signal?: AbortSignal | undefined;
}
