import proxyAddr from 'proxy-addr';

/** Whether an address, so many hops away, is a proxy whose X-Forwarded headers are believed. */
export type IsTrusted = (address: string, hop: number) => boolean;

/** TRUST_PROXY as a function: no proxy, the nearest so many, or those of these addresses and networks. */
export function trustProxies(setting: false | number | string[]): IsTrusted {
  if (setting === false) return () => false;
  if (typeof setting === 'number') return (_address, hop) => hop < setting;
  return proxyAddr.compile(setting);
}
