import { setTimeout as sleep } from 'node:timers/promises';
import type { GpuClient } from '../client/index.js';
import { visible } from '../visible.js';
import { distanceOf, readable } from './times.js';

/** A volume of an instance. */
export interface Attached {
  id: string;
  path: string;
  holdsLease: boolean;
  saved: boolean;
  lastSnapshotAt: string | null;
  lostSince: string | null;
  message: string | null;
}

const ATTACHED = `query ($id: ID!) {
  instance(id: $id) { status runtime { reachable } volumes { id path holdsLease saved lastSnapshotAt lostSince message } } }`;
const LOOKS_AGAIN_MS = 2_000;

interface Seen {
  status: 'RUNNING' | 'STOPPED' | 'DESTROYED';
  runtime: { reachable: boolean } | null;
  volumes: Attached[];
}

async function see(client: GpuClient, id: string): Promise<Seen | null> {
  return (await client.graphql<{ instance: Seen | null }>(ATTACHED, { id })).instance;
}

export async function attachedOf(client: GpuClient, id: string): Promise<Attached[]> {
  return (await see(client, id))?.volumes ?? [];
}

/** Describes its location, the age of its last snapshot, and unsaved changes. */
export function describeAttached(
  { path, holdsLease, saved, lastSnapshotAt, lostSince, message }: Attached,
  now: Date,
): string {
  const last = lastSnapshotAt === null ? 'no snapshot yet' : `last snapshot ${ageOf(lastSnapshotAt, now)} ago`;
  const state =
    lostSince !== null
      ? `what was written since ${readable(lostSince)} is lost`
      : saved
        ? 'saved'
        : holdsLease
          ? 'in use'
          : '';
  const parts = [visible(path), state, last, ...(message === null ? [] : [`not saved: ${visible(message)}`])];
  return parts.filter((part) => part !== '').join(', ');
}

function ageOf(text: string, now: Date): string {
  return distanceOf(Math.max(0, Math.round((now.getTime() - Date.parse(text)) / 1_000)));
}

/**
 * Resolves once a stopped instance on a reachable host has saved its volumes; immediately for any other, whose move the
 * service decides. `say` is called once with the reason for waiting.
 */
export async function untilSaved(client: GpuClient, id: string, say: (words: string) => void): Promise<void> {
  for (let first = true; ; first = false) {
    const seen = await see(client, id);
    const held = seen?.volumes.filter(({ holdsLease }) => holdsLease) ?? [];
    if (seen === null || seen.status === 'RUNNING' || held.length === 0 || seen.runtime?.reachable !== true) return;
    if (first) say(`${held.map((each) => each.id).join(', ')} of ${id} is still being saved; Ctrl-C ends the wait`);
    await sleep(LOOKS_AGAIN_MS);
  }
}
