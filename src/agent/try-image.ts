import { once } from 'node:events';
import { connect } from 'node:net';
import type { Engine } from './engine/engine.js';
import { withTag } from './engine/image-name.js';
import { UsageError } from './settings.js';

/**
 * This image serves a page and keeps running. The default template's image, by contrast, is several gigabytes in size.
 */
const SMALL_IMAGE = 'nginx';
const HUB = { host: 'registry-1.docker.io', port: 443 };
const HUB_WITHIN_MS = 5_000;

/** The image that a user trying the service should deploy. */
export interface OfferedImage {
  name: string;
  /** Whether the host's local version is used. If not, the image is pulled. */
  isHere: boolean;
  /** Why this image was chosen, or null for the usual one. */
  because: string | null;
}

/**
 * Returns `wanted`, which must be on the host. If it is null, returns a small public image, or one of the host's images
 * if there is no network.
 */
export async function chooseImage(
  engine: Engine,
  wanted: string | null,
  isHubThere: () => Promise<boolean> = reachesHub,
): Promise<OfferedImage> {
  const isHere = async (name: string) => (await engine.imageId(withTag(name))) !== null;
  if (wanted !== null) {
    if (await isHere(wanted)) return { name: wanted, isHere: true, because: null };
    throw new UsageError(
      `${wanted} is not on this host; available images: ${(await engine.imageNames()).join(', ') || 'none'}`,
    );
  }
  if (await isHere(SMALL_IMAGE)) return { name: SMALL_IMAGE, isHere: true, because: null };
  if (await isHubThere()) return { name: SMALL_IMAGE, isHere: false, because: null };
  const [newest] = await engine.imageNames();
  const missing = 'Docker Hub is unreachable from this host';
  if (newest !== undefined) return { name: newest, isHere: true, because: `${missing}; this image is already on it.` };
  throw new UsageError(
    `${missing}, and the host has no images; connect it, or load one with \`${engine.info.name} load -i FILE\`, then try again`,
  );
}

async function reachesHub(): Promise<boolean> {
  const socket = connect({ ...HUB, signal: AbortSignal.timeout(HUB_WITHIN_MS) });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
