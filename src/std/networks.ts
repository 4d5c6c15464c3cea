import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A network. An IPv4 network is represented by the IPv4-mapped IPv6 addresses of its addresses. */
interface Network {
  address: ipaddr.IPv6;
  bits: number;
  version: 4 | 6;
}

const BITS = 128;
const IPV4_BITS = 32;

/**
 * Parses an address, which may have a zone. An IPv4 address becomes an IPv4-mapped IPv6 address, so that both notations
 * are treated the same. Returns null for any other text. Node decides what an address is, because ipaddr.js also
 * accepts IPv4 addresses in octal, in hexadecimal and as a single number.
 */
export function parseAddress(text: string): ipaddr.IPv6 | null {
  const [plain = ''] = text.split('%');
  const version = isIP(plain);
  if (version === 0) return null;
  if (version === 4) return ipaddr.IPv4.parse(plain).toIPv4MappedAddress();
  // ipaddr.js fails on addresses such as `::127.0.0.1`, which a URL writes in hexadecimal.
  return ipaddr.IPv6.parse(new URL(`http://[${plain}]`).hostname.slice(1, -1));
}

/**
 * Parses a network such as `10.0.0.0/8` or `2001:db8::/32`, or a single address. Bits after the prefix are ignored.
 * Returns null for any other text.
 */
export function parseNetwork(text: string): Network | null {
  const [ip = '', length, ...more] = text.split('/');
  const address = ip.includes('%') ? null : parseAddress(ip);
  if (address === null || more.length > 0) return null;
  const version = isIP(ip) === 4 ? 4 : 6;
  const max = version === 4 ? IPV4_BITS : BITS;
  if (length === undefined) return { address, bits: BITS, version };
  if (!/^\d{1,3}$/.test(length) || Number(length) > max) return null;
  return { address, bits: BITS - max + Number(length), version };
}

/** Parses all networks. Invalid ones are ignored. */
export function networkList(networks: readonly string[]): Network[] {
  return networks.map(parseNetwork).filter((network) => network !== null);
}

/** Whether any of the networks contains the address. */
export function holds(networks: readonly Network[], address: string): boolean {
  const ip = parseAddress(address);
  return ip !== null && networks.some((network) => ip.match(network.address, network.bits));
}

/** Whether each of the `inner` networks is within one of the `outer` networks. */
export function areWithin(inner: readonly string[], outer: readonly string[]): boolean {
  return inner.every((text) => {
    const wanted = parseNetwork(text);
    return wanted !== null && networkList(outer).some((each) => isWithin(wanted, each));
  });
}

function isWithin(inner: Network, outer: Network): boolean {
  return outer.version === inner.version && outer.bits <= inner.bits && inner.address.match(outer.address, outer.bits);
}

/**
 * Networks that aren't public: loopback, private, link-local, shared, documentation, benchmark, multicast and reserved
 * addresses, and those that are translated to such addresses.
 */
const NOT_PUBLIC = networkList([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '::/96', '100::/64', '2001::/23', '2001:db8::/32', '3fff::/20', '5f00::/16'],
  // Through these two networks, a gateway may reach any IPv4 address.
  ...['64:ff9b::/32', '2002::/16'],
  ...['fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
]);

/** Whether the text is the address of a public host. */
export function isPublic(address: string): boolean {
  // No public name resolves to an IPv4 address in the hexadecimal notation of IPv6.
  if (/^::ffff:/i.test(address) && !/^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address)) return false;
  return parseAddress(address) !== null && !holds(NOT_PUBLIC, address);
}
