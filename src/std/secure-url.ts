const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Whether requests to a URL can't be read on the way: it uses HTTPS, or HTTP within this computer. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.includes(hostname));
}
