import type { TunnelSignal } from '../../agent-protocol/tunnel-protocol.js';
import type { Exec } from '../engine/engine.js';

const RESIZE_TRIES = 20;
const RESIZE_AGAIN_MS = 50;
const HANG_UP_TRIES = 60;
const HANG_UP_AGAIN_MS = 500;
const EXIT_TRIES = 50;
const EXIT_AGAIN_MS = 20;

/** Resizes the terminal. Retries, because the engine refuses to until the command has started. */
export async function resizeSoon(exec: Exec, { columns, rows }: { columns: number; rows: number }): Promise<void> {
  for (let tries = 0; tries < RESIZE_TRIES; tries += 1) {
    try {
      return await exec.resize(columns, rows);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RESIZE_AGAIN_MS));
    }
  }
}

/**
 * Hangs up the command, as closing a terminal would. A command that ignores SIGHUP keeps running. Retries because a
 * busy engine may be slow to start the command.
 */
export async function hangUp(exec: Exec): Promise<void> {
  for (let tries = 0; tries < HANG_UP_TRIES; tries += 1) {
    const { pid } = await exec.state().catch(() => ({ pid: null }));
    if (pid !== null && signalGroup(pid, 'HUP')) return;
    await new Promise((resolve) => setTimeout(resolve, HANG_UP_AGAIN_MS));
  }
}

export async function signalTo(exec: Exec, name: TunnelSignal): Promise<void> {
  const { pid } = await exec.state().catch(() => ({ pid: null }));
  if (pid !== null) signalGroup(pid, name);
}

/**
 * Signals the process group that the command leads. Returns false if the command does not lead its group yet, has
 * ended, or is not visible on this host.
 */
export function signalGroup(pid: number, name: TunnelSignal): boolean {
  try {
    return pid > 1 && process.kill(-pid, `SIG${name}`);
  } catch {
    return false;
  }
}

/**
 * Returns the exit code. Retries, because the engine may report the end of the output before the end of the process.
 */
export async function exitCodeOf(exec: Exec): Promise<number | null> {
  for (let tries = 0; tries < EXIT_TRIES; tries += 1) {
    try {
      const { running, exitCode } = await exec.state();
      if (!running) return exitCode;
    } catch {
      return null;
    }
    await new Promise((resolve) => setTimeout(resolve, EXIT_AGAIN_MS));
  }
  return null;
}
