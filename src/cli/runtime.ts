import { constants } from 'node:os';
import { type GpuClient, GpuError, type Runtime } from '../client/index.js';
import { untilRunning } from '../run/wait.js';
import { visible } from '../visible.js';
import { type Progress, showProgress } from './terminal.js';

const BAR_CHARACTERS = 24;
const BYTES_PER_MB = 1_000_000;
/** A command that a signal ended has this and the signal's number as its exit code. */
const SIGNALS_FROM = 128;

/** In one line: the phase, how much of the image is there, and the engine's words. */
export function describeRuntime({ phase, pulledBytes, totalBytes, message, restarts }: Runtime): string {
  const parts = [phase.toLowerCase()];
  if (isFetching(phase) && pulledBytes !== null) parts.push(bytes(pulledBytes, totalBytes));
  if (restarts > 0) parts.push(`restarted ${restarts} times`);
  if (message !== null) parts.push(visible(message));
  return parts.join(', ');
}

/** Returns an exit code with the signal that it stands for; null while none is known, or the container runs again. */
export function describeExitCode({ exitCode, phase }: Runtime): string | null {
  if (exitCode === null || phase === 'RUNNING') return null;
  const number = exitCode - SIGNALS_FROM;
  const [signal] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [];
  return signal === undefined ? String(exitCode) : `${exitCode} (${signal})`;
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
  const progress = showProgress('Waiting for the container');
  try {
    const onRuntime = (runtime: Runtime) => progress.say(lineOf(runtime));
    await untilRunning(client, id, { describe: describeRuntime, onRuntime });
  } finally {
    progress.end();
  }
}

/** Shows it in a spinner, the one that is there or a new one. */
export function showRuntime(progress: Progress | null, runtime: Runtime): Progress {
  const shown = progress ?? showProgress('Waiting for the container');
  shown.say(lineOf(runtime));
  return shown;
}

function lineOf(runtime: Runtime): string {
  const { phase, pulledBytes, totalBytes } = runtime;
  if (!isFetching(phase) || pulledBytes === null || !totalBytes) return `Container: ${describeRuntime(runtime)}`;
  const full = Math.round(Math.min(pulledBytes / totalBytes, 1) * BAR_CHARACTERS);
  const what = phase === 'PULLING' ? 'Pulling' : 'Restoring volumes';
  return `${what} ${'█'.repeat(full)}${'░'.repeat(BAR_CHARACTERS - full)} ${bytes(pulledBytes, totalBytes)}`;
}

/** An image, or volumes. */
function isFetching(phase: Runtime['phase']): boolean {
  return phase === 'PULLING' || phase === 'RESTORING';
}

function bytes(pulled: number, total: number | null): string {
  const mb = (value: number) => (value / BYTES_PER_MB).toFixed(0);
  return total === null ? `${mb(pulled)} MB` : `${mb(pulled)} of ${mb(total)} MB`;
}
