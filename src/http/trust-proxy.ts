import proxyAddr from 'proxy-addr';

/** Returns whether the X-Forwarded headers of a proxy with this address, `hop` hops away, are trusted. */
export type IsTrusted = (address: string, hop: number) => boolean;

/**
 * Converts TRUST_PROXY to a function. It trusts no proxy, a number of the nearest ones, or those with the given
 * addresses and networks.
 */
export function trustProxies(setting: false | number | string[]): IsTrusted {
  if (setting === false) return () => false;
  if (typeof setting === 'number') return (_address, hop) => hop < setting;
  return proxyAddr.compile(setting);
}
