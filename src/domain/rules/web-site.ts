import { isIP } from 'node:net';

/** The target of a host name below SERVICE_DOMAIN: a port of one instance. */
export interface WebSite {
  instanceId: string;
  /** Null for the instance's first port. */
  port: number | null;
}

/** Maximum length of a host: a DNS name has at most 253 characters, and a port and two dots may follow. */
const MAX_HOST = 262;
const MAX_PORT = 65_535;
const PORT_SUFFIX = /:\d{0,5}$/;
const LABEL = /^(i-[a-f0-9]{8})(?:-([1-9]\d{0,4}))?$/;

/**
 * Reads the Host header (`domain` and `ownHosts` are in lower case). All names below the domain belong to instances,
 * except for the gateway's own. Null for an invalid one, such as `i-1.gpu.localhost` or `www.gpu.localhost`. Undefined
 * for any other name: the gateway itself serves it.
 */
export function webSiteOf(host: string, domain: string, ownHosts: readonly string[]): WebSite | null | undefined {
  if (host.length > MAX_HOST) return undefined;
  const name = nameOf(host);
  if (!name.endsWith(`.${domain}`) || ownHosts.includes(name)) return undefined;
  const labels = name.slice(0, -domain.length - 1).split('.');
  const [, instanceId, port] = LABEL.exec(labels.at(-1)!) ?? [];
  if (labels.length > 1 || instanceId === undefined || Number(port ?? 1) > MAX_PORT) return null;
  return { instanceId, port: port === undefined ? null : Number(port) };
}

/**
 * Whether a request named a host that the operator has not published: the console is not shown there. Addresses, names
 * without a dot and local names may be an operator's own ways to the gateway, and so may any name if none is published.
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

/** Returns the host name of an instance's port; null for its first. */
export function webHostOf(instanceId: string, port: number | null, domain: string): string {
  return `${instanceId}${port === null ? '' : `-${port}`}.${domain}`;
}

/** Matches a path: two slashes would begin another host's address, and so would a backslash in browsers. */
const WEB_PATH = /^\/(?![/\\])[\x21-\x7e]*$/;

/** Whether a text is a path with an optional query, within its host. */
export function isWebPath(text: string): boolean {
  return WEB_PATH.test(text);
}
