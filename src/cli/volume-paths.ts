import { InvalidArgumentError } from 'commander';
import type { DeployRequest } from '../client/index.js';

export type VolumeAtPath = NonNullable<DeployRequest['volumes']>[number];

/** Parses a path in a volume. Returns undefined if the string doesn't name a volume. */
export function volumeAtPath(text: string): VolumeAtPath | undefined {
  const [, id, path] = /^(v-[0-9a-f]{8}):(\/.+)$/.exec(text) ?? [];
  return id === undefined || path === undefined ? undefined : { id, path };
}

export function addVolume(text: string, before: VolumeAtPath[] = []): VolumeAtPath[] {
  const volume = volumeAtPath(text);
  if (volume === undefined) throw new InvalidArgumentError('must be a volume and a path, such as v-1a2b3c4d:/data.');
  return [...before, volume];
}
