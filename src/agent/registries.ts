import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { PullFault } from './engine/engine.js';
import { DEFAULT_REGISTRY, type ImageName } from './engine/image-name.js';

/** Addresses that no public registry has: this host, its networks, and prefixes through which they can be reached. */
const INSIDE: readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 127, 'ipv6'],
  // Through these two prefixes, a gateway may reach any IPv4 address.
  ['64:ff9b::', 32, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['fc00::', 7, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['fec0::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
];

const inside = new BlockList();
for (const [network, prefix, family] of INSIDE) inside.addSubnet(network, prefix, family);

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
  const family = isIP(bare);
  if (family === 0) return true;
  const own = Object.values(networkInterfaces()).some((each) => each?.some((known) => known.address === bare));
  return own || inside.check(bare, family === 4 ? 'ipv4' : 'ipv6');
}

/** Resolves a name with the system's resolver, as the engine does, so that the hosts file is respected. */
async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}
