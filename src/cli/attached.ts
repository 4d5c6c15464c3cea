import { setTimeout as sleep } from 'node:timers/promises';
import type { GpuClient } from '../client/index.js';
import { visible } from '../std/visible.js';
import { distanceOf, readable } from './times.js';

/** A volume attached to an instance. */
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
const POLL_EVERY_MS = 2_000;

interface State {
  status: 'RUNNING' | 'STOPPED' | 'DESTROYED';
  runtime: { reachable: boolean } | null;
  volumes: Attached[];
}

async function readState(client: GpuClient, id: string): Promise<State | null> {
  return (await client.graphql<{ instance: State | null }>(ATTACHED, { id })).instance;
}

export async function attachedOf(client: GpuClient, id: string): Promise<Attached[]> {
  return (await readState(client, id))?.volumes ?? [];
}

/** Describes a volume by its path, the age of its last snapshot and whether it has unsaved changes. */
export function describeAttached(
  { path, holdsLease, saved, lastSnapshotAt, lostSince, message }: Attached,
  now: Date,
): string {
  const last = lastSnapshotAt === null ? 'no snapshot yet' : `last snapshot ${ageOf(lastSnapshotAt, now)} ago`;
  const state =
    lostSince !== null ? `changes since ${readable(lostSince)} are lost` : saved ? 'saved' : holdsLease ? 'in use' : '';
  const parts = [visible(path), state, last, ...(message === null ? [] : [`not saved: ${visible(message)}`])];
  return parts.filter((part) => part !== '').join(', ');
}

function ageOf(text: string, now: Date): string {
  return distanceOf(Math.max(0, Math.round((now.getTime() - Date.parse(text)) / 1_000)));
}

/**
 * Resolves once a stopped instance on a reachable host has saved its volumes. Resolves immediately for any other
 * instance, because the service decides whether that one can be moved. `onWait` is called once with the reason for
 * waiting.
 */
export async function untilSaved(client: GpuClient, id: string, onWait: (reason: string) => void): Promise<void> {
  for (let first = true; ; first = false) {
    const state = await readState(client, id);
    const held = state?.volumes.filter(({ holdsLease }) => holdsLease) ?? [];
    if (state === null || state.status === 'RUNNING' || held.length === 0 || state.runtime?.reachable !== true) return;
    if (first) onWait(`waiting until ${id} has saved ${held.map((each) => each.id).join(', ')}; Ctrl-C stops waiting`);
    await sleep(POLL_EVERY_MS);
  }
}
