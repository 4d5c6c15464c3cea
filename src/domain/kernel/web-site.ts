import { isIP } from 'node:net';

/** The target of a host name under SERVICE_DOMAIN, which is a port of an instance. */
export interface WebSite {
  instanceId: string;
  /** Null for the instance's first port. */
  port: number | null;
}

/** Maximum length of a host. A DNS name has at most 253 characters and can be followed by a port and two dots. */
const MAX_HOST = 262;
const MAX_PORT = 65_535;
const PORT_SUFFIX = /:\d{0,5}$/;
const LABEL = /^(i-[a-f0-9]{8})(?:-([1-9]\d{0,4}))?$/;

/**
 * Interprets the Host header. `domain` and `ownHosts` are in lower case. All names under the domain belong to
 * instances, except for the gateway's own names. Returns null if such a name is invalid, as with `i-1.gpu.localhost` or
 * `www.gpu.localhost`, and undefined for all other names, which are served by the gateway itself.
 */
export function webSiteOf(host: string, domain: string, ownHosts: readonly string[]): WebSite | null | undefined {
  if (host.length > MAX_HOST) return undefined;
  const name = nameOf(host);
  if (!name.endsWith(`.${domain}`) || ownHosts.includes(name)) return undefined;
  const labels = name.slice(0, -domain.length - 1).split('.');
  const [, instanceId, port] = LABEL.exec(labels.at(-1) ?? '') ?? [];
  if (labels.length > 1 || instanceId === undefined || Number(port ?? 1) > MAX_PORT) return null;
  return { instanceId, port: port === undefined ? null : Number(port) };
}

/**
 * Whether a request used a host name that the operator hasn't published, in which case the console isn't shown. IP
 * addresses, names without a dot and local names never count as foreign, because an operator may use them to reach the
 * gateway. If the published name is itself local, no name counts as foreign.
 */
export function isForeignHost(host: string, publicUrl: string): boolean {
  const published = new URL(publicUrl).hostname;
  const name = nameOf(host);
  return !isLocalName(published) && !isLocalName(name) && name !== published;
}

function isLocalName(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || !name.includes('.') || name.endsWith('.localhost');
}

function nameOf(host: string): string {
  return host.replace(PORT_SUFFIX, '').replace(/\.$/, '').toLowerCase();
}

/** Returns the host name for an instance's port. A null port means the instance's first port. */
export function webHostOf(instanceId: string, port: number | null, domain: string): string {
  return `${instanceId}${port === null ? '' : `-${port}`}.${domain}`;
}

/**
 * Matches a path. Two slashes at the start would begin another host's address, as would a slash and a backslash in
 * browsers.
 */
const WEB_PATH = /^\/(?![/\\])[\x21-\x7e]*$/;

/** Whether the text is a path within its host, optionally with a query. */
export function isWebPath(text: string): boolean {
  return WEB_PATH.test(text);
}
