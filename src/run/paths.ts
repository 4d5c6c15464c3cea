import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { RunFailed } from './failure.js';

/** A path in the workspace, and its local destination. */
export interface Fetched {
  path: string;
  to: string;
}

/** Returns the normalized paths in the workspace. Throws RunFailed for a path outside it. */
export function checkOut(paths: readonly string[]): string[] {
  return paths.map((path) => {
    const slashed = path.replaceAll('\\', '/');
    const parts = slashed.split('/').filter((part) => part !== '' && part !== '.');
    const leadsAway = slashed.startsWith('/') || parts.some((part) => part === '..' || isInvalid(part));
    if (parts.length === 0 || leadsAway)
      throw new RunFailed(`${path} must be a path under the workspace, such as results or results/run-1`);
    return parts.join('/');
  });
}

/** Throws RunFailed for a destination that is a link or is reached through one. Called before anything is rented. */
export function checkDestinations(paths: readonly string[], into: string): void {
  for (const path of paths) {
    const parts = path.split('/');
    for (const [index] of parts.entries()) {
      const shown = parts.slice(0, index + 1).join('/');
      const stats = lstatSync(join(into, shown), { throwIfNoEntry: false });
      if (stats === undefined) break;
      if (stats.isSymbolicLink()) throw new RunFailed(isLinkHere(shown));
      if (!stats.isDirectory() && index < parts.length - 1) throw new RunFailed(`${shown} is not a local folder`);
    }
  }
}

/** Returns the error message for a destination that isn't written because it is a link. */
export function isLinkHere(shown: string): string {
  return `${shown} is a link here, and results are not written through links; remove or rename it`;
}

/** Returns each path with its destination. `gpu run` fetches each result to the same path on this computer. */
export function toSamePlace(paths: readonly string[]): Fetched[] {
  return paths.map((path) => ({ path, to: path }));
}

/**
 * Returns each path with its destination, for a run that another client may have started. Any client with one of the
 * account's keys may have chosen these paths, so nothing that exists on this computer is changed. If a path's first
 * folder already exists here or is hidden, the path goes to a folder named after the instance.
 */
export function toSafePlace(paths: readonly string[], id: string, into: string): Fetched[] {
  return paths.map((path) => {
    const [first = ''] = path.split('/', 1);
    const isFree = !first.startsWith('.') && lstatSync(join(into, first), { throwIfNoEntry: false }) === undefined;
    return { path, to: isFree ? path : `${id}/${path}` };
  });
}

/** Whether no file can have this name, or the name has a different meaning on Windows. */
function isInvalid(part: string): boolean {
  return part.includes('\0') || (process.platform === 'win32' && part.includes(':'));
}
