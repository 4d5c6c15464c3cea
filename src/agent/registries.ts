import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isPublic } from '../std/networks.js';
import { PullFault } from './engine/engine.js';
import { DEFAULT_REGISTRY, type ImageName } from './engine/image-name.js';

export type Resolve = (host: string) => Promise<string[]>;

/**
 * Decides which registries images may come from. The engine pulls with the host's own network access. By naming a
 * registry inside that network, a renter could send requests that only the host may send.
 */
export class Registries {
  readonly #listed: ReadonlySet<string>;
  readonly #resolve: Resolve;

  /**
   * `listed` contains the operator's registries as they appear in image names (`registry.internal:5000`). They may have
   * any address.
   */
  constructor(listed: readonly string[], resolve: Resolve = addressesOf) {
    this.#listed = new Set([DEFAULT_REGISTRY, ...listed].map((registry) => registry.toLowerCase()));
    this.#resolve = resolve;
  }

  /** Rejects with a PullFault if any address of the registry is not public, or if it has none. */
  async check({ registry }: ImageName): Promise<void> {
    if (this.#listed.has(registry)) return;
    const host = registry.replace(/:\d+$/, '');
    const addresses = isIP(host) === 0 ? await this.#addresses(registry, host) : [host];
    const refused = addresses.find((address) => isInside(address));
    if (refused === undefined) return;
    throw new PullFault(`refusing to pull images from ${registry}: its IP address is not public`, {
      detail: `${registry} resolves to ${refused}; list it in GPU_AGENT_REGISTRIES to allow it`,
      final: true,
    });
  }

  async #addresses(registry: string, host: string): Promise<string[]> {
    try {
      return await this.#resolve(host);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new PullFault(`the registry ${registry} was not found`, {
        detail: message,
        unreachable: code !== 'EAI_AGAIN',
      });
    }
  }
}

/**
 * Whether an address is not public, because it belongs to this host or its networks, or can't belong to any registry.
 */
export function isInside(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  const own = Object.values(networkInterfaces()).some((each) => each?.some((known) => known.address === bare));
  return own || !isPublic(bare);
}

/** Resolves a name with the system's resolver, as the engine does, so that the hosts file is respected. */
async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}
