import { constants } from 'node:os';
import { type GpuClient, GpuError, type Runtime } from '../client/index.js';
import { untilRunning } from '../run/wait.js';
import { visible } from '../std/visible.js';
import { type Progress, showProgress } from './terminal.js';

const BAR_CHARACTERS = 24;
const BYTES_PER_MB = 1_000_000;
/** Added to the signal's number to get the exit code of a command ended by a signal. */
const SIGNALS_FROM = 128;

/**
 * Describes a runtime in one line, with its phase, the image's download progress and the container engine's message.
 */
export function describeRuntime({ phase, pulledBytes, totalBytes, message, restarts }: Runtime): string {
  const parts = [phase.toLowerCase()];
  if (isFetching(phase) && pulledBytes !== null) parts.push(bytes(pulledBytes, totalBytes));
  if (restarts > 0) parts.push(`restarted ${restarts} times`);
  if (message !== null) parts.push(visible(message));
  return parts.join(', ');
}

/**
 * Returns an exit code along with any signal that it stands for. Returns null if the exit code is unknown or the
 * container is running again.
 */
export function describeExitCode({ exitCode, phase }: Runtime): string | null {
  if (exitCode === null || phase === 'RUNNING') return null;
  const number = exitCode - SIGNALS_FROM;
  const [signal] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return signal === undefined ? String(exitCode) : `${exitCode} (${signal})`;
}

/** Resolves to null if the request fails for any reason, because an older service lacks some of the fields. */
export async function orNull<T>(request: Promise<T>): Promise<T | null> {
  return request.catch((error: unknown) => {
    if (error instanceof GpuError) return null;
    throw error;
  });
}

/**
 * Waits until the container is running, and fails if it couldn't be started. Doesn't wait if the instance has no
 * container.
 */
export async function waitUntilRunning(client: GpuClient, id: string): Promise<void> {
  const progress = showProgress('Waiting for the container');
  try {
    const onRuntime = (runtime: Runtime) => progress.show(lineOf(runtime));
    await untilRunning(client, id, { describe: describeRuntime, onRuntime });
  } finally {
    progress.end();
  }
}

/** Shows the runtime in the given spinner, or in a new one if none is given. */
export function showRuntime(progress: Progress | null, runtime: Runtime): Progress {
  const shown = progress ?? showProgress('Waiting for the container');
  shown.show(lineOf(runtime));
  return shown;
}

function lineOf(runtime: Runtime): string {
  const { phase, pulledBytes, totalBytes } = runtime;
  if (!isFetching(phase) || pulledBytes === null || !totalBytes) return `Container: ${describeRuntime(runtime)}`;
  const full = Math.round(Math.min(pulledBytes / totalBytes, 1) * BAR_CHARACTERS);
  const what = phase === 'PULLING' ? 'Pulling' : 'Restoring volumes';
  return `${what} ${'█'.repeat(full)}${'░'.repeat(BAR_CHARACTERS - full)} ${bytes(pulledBytes, totalBytes)}`;
}

/** Returns whether an image or volumes are being fetched. */
function isFetching(phase: Runtime['phase']): boolean {
  return phase === 'PULLING' || phase === 'RESTORING';
}

function bytes(pulled: number, total: number | null): string {
  const mb = (value: number) => (value / BYTES_PER_MB).toFixed(0);
  return total === null ? `${mb(pulled)} MB` : `${mb(pulled)} of ${mb(total)} MB`;
}
