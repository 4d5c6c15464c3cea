import { BlockList, isIP, isIPv4 } from 'node:net';

const BITS = { ipv4: 32, ipv6: 128 } as const;
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

interface Network {
  address: string;
  bits: number;
  family: 'ipv4' | 'ipv6';
}

/**
 * Parses a network such as `10.0.0.0/8` or `2001:db8::/32`, or a single address. Bits after the prefix are ignored.
 * Returns null for any other text.
 */
export function parseNetwork(text: string): Network | null {
  const [address = '', length, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0 || address.includes('%')) return null;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (length === undefined) return { address, bits: BITS[family], family };
  if (!/^\d{1,3}$/.test(length) || Number(length) > BITS[family]) return null;
  return { address, bits: Number(length), family };
}

/** Returns a list that contains all addresses in the networks. Invalid networks are ignored. */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of networks) {
    const network = parseNetwork(text);
    if (network !== null) list.addSubnet(network.address, network.bits, network.family);
  }
  return list;
}

/** Whether the list contains the address. An IPv4 address may be written as an IPv4-mapped IPv6 address. */
export function holds(list: BlockList, address: string): boolean {
  const [plain = ''] = address.split('%');
  const ip = MAPPED.exec(plain)?.[1] ?? plain;
  if (isIP(ip) === 0) return false;
  return list.check(ip, isIPv4(ip) ? 'ipv4' : 'ipv6');
}

/** Whether each of the `inner` networks is within one of the `outer` networks. */
export function areWithin(inner: readonly string[], outer: readonly string[]): boolean {
  return inner.every((text) => {
    const wanted = parseNetwork(text);
    return wanted !== null && outer.some((each) => isWithin(wanted, parseNetwork(each)));
  });
}

function isWithin(inner: Network, outer: Network | null): boolean {
  if (outer === null || outer.family !== inner.family || outer.bits > inner.bits) return false;
  const list = new BlockList();
  list.addSubnet(outer.address, outer.bits, outer.family);
  return list.check(inner.address, inner.family);
}
