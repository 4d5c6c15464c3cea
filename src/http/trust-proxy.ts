import proxyAddr from 'proxy-addr';

/** Whether an address, `hop` hops away, is a proxy whose X-Forwarded headers are trusted. */
export type IsTrusted = (address: string, hop: number) => boolean;

/**
 * Parses TRUST_PROXY into a function: no proxy, a number of nearest ones, or those with these addresses and networks.
 */
export function trustProxies(setting: false | number | string[]): IsTrusted {
  if (setting === false) return () => false;
  if (typeof setting === 'number') return (_address, hop) => hop < setting;
  return proxyAddr.compile(setting);
}
