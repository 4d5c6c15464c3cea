import { setTimeout as sleep } from 'node:timers/promises';
import { type GpuClient, GpuError, type Runtime } from '../client/index.js';
import { visible } from '../visible.js';
import { EXIT, Failure } from './failure.js';
import { type Progress, showProgress } from './terminal.js';

/** An image that is there starts in well under a second; a pull takes minutes. */
const ASK_FIRST_AFTER_MS = 100;
const ASK_EVERY_MS = 1_000;
const LONGER = 1.5;
/** A large image on a slow line; the rental goes on either way. */
const WAIT_MS = 3_600_000;
const BAR_CHARACTERS = 24;
const BYTES_PER_MB = 1_000_000;

/** In one line: the phase, how much of the image is there, and the engine's words. */
export function describeRuntime({ phase, pulledBytes, totalBytes, message, restarts }: Runtime): string {
  const parts = [phase.toLowerCase()];
  if (phase === 'PULLING' && pulledBytes !== null) parts.push(bytes(pulledBytes, totalBytes));
  if (restarts > 0) parts.push(`restarted ${restarts} times`);
  if (message !== null) parts.push(visible(message));
  return parts.join(', ');
}

/** Null when the service does not answer (an older one knows no runtime), whatever the reason. */
export async function orNothing<T>(asked: Promise<T>): Promise<T | null> {
  return asked.catch((error: unknown) => {
    if (error instanceof GpuError) return null;
    throw error;
  });
}

/** Until the container runs. Fails when its start did; an instance without a container is not waited for. */
export async function waitUntilRunning(client: GpuClient, id: string): Promise<void> {
  const progress: Progress = showProgress('Waiting for the container');
  try {
    const endsAt = Date.now() + WAIT_MS;
    for (let pauseMs = ASK_FIRST_AFTER_MS; Date.now() < endsAt; pauseMs = Math.min(pauseMs * LONGER, ASK_EVERY_MS)) {
      const runtime = await client.instances.runtime(id);
      if (runtime === null || runtime.phase === 'RUNNING') return;
      if (['FAILED', 'STOPPED', 'ERASED'].includes(runtime.phase))
        throw new Failure(EXIT.refused, `${id} does not run: ${describeRuntime(runtime)}`);
      progress.say(lineOf(runtime));
      await sleep(pauseMs);
    }
    throw new Failure(EXIT.refused, `${id} does not run yet; \`gpu show ${id}\` shows its progress`);
  } finally {
    progress.end();
  }
}

function lineOf(runtime: Runtime): string {
  const { phase, pulledBytes, totalBytes } = runtime;
  if (phase !== 'PULLING' || pulledBytes === null || !totalBytes) return `Container: ${describeRuntime(runtime)}`;
  const full = Math.round(Math.min(pulledBytes / totalBytes, 1) * BAR_CHARACTERS);
  return `Pulling ${'█'.repeat(full)}${'░'.repeat(BAR_CHARACTERS - full)} ${bytes(pulledBytes, totalBytes)}`;
}

function bytes(pulled: number, total: number | null): string {
  const mb = (value: number) => (value / BYTES_PER_MB).toFixed(0);
  return total === null ? `${mb(pulled)} MB` : `${mb(pulled)} of ${mb(total)} MB`;
}
