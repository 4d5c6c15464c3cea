import { isIPv4 } from 'node:net';
import { parseAddress } from '../../std/networks.js';

const UNKNOWN = 'unknown';
/** Number of 16-bit groups in a /64, the IPv6 network that providers typically assign to a single customer. */
const NETWORK_GROUPS = 4;

/**
 * Returns the name of a client's network. This is the client's IPv4 address or the /64 of its IPv6 address, because a
 * single client controls all 2^64 addresses of a /64. The address is undefined if the connection has already been lost.
 */
export function clientNetworkOf(address: string | undefined): string {
  if (address === undefined) return UNKNOWN;
  // An IPv4 address is its own name, so most requests need no parsing.
  const ip = isIPv4(address) ? null : parseAddress(address);
  if (ip === null) return address;
  if (ip.isIPv4MappedAddress()) return ip.toIPv4Address().toString();
  const groups = ip.parts.slice(0, NETWORK_GROUPS).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

/**
 * Returns the name of the wider network within which an address can change without being treated as new: an IPv4 /24 or
 * an IPv6 /48.
 */
export function wideNetworkOf(address: string): string {
  const network = clientNetworkOf(address);
  if (!network.endsWith('::/64')) return network.replace(/\.\d+$/, '.0/24');
  return `${network.split(':').slice(0, 3).join(':')}::/48`;
}
