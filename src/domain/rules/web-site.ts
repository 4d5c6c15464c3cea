/** What a host name below SERVICE_DOMAIN leads to: a port of one instance. */
export interface WebSite {
  instanceId: string;
  /** Null for the instance's first port. */
  port: number | null;
}

/** A DNS name has 253 characters at most; a port and two dots may follow. */
const MAX_HOST = 262;
const MAX_PORT = 65_535;
const PORT_SUFFIX = /:\d{0,5}$/;
const LABEL = /^(i-[a-f0-9]{8})(?:-([1-9]\d{0,4}))?$/;

/**
 * Reads the header Host (`domain` is in lower case). Null for a name that would be an instance's and is none, such as
 * `i-1.gpu.localhost`; undefined for every other name: the gateway's own.
 */
export function webSiteOf(host: string, domain: string): WebSite | null | undefined {
  if (host.length > MAX_HOST) return undefined;
  const name = host.replace(PORT_SUFFIX, '').replace(/\.$/, '').toLowerCase();
  if (!name.endsWith(domain) || name[name.length - domain.length - 1] !== '.') return undefined;
  const labels = name.slice(0, -domain.length - 1).split('.');
  if (!labels.at(-1)!.startsWith('i-')) return undefined;
  const [, instanceId, port] = LABEL.exec(labels.at(-1)!) ?? [];
  if (labels.length > 1 || instanceId === undefined || Number(port ?? 1) > MAX_PORT) return null;
  return { instanceId, port: port === undefined ? null : Number(port) };
}

/** The host name of an instance's port; null for its first. */
export function webHostOf(instanceId: string, port: number | null, domain: string): string {
  return `${instanceId}${port === null ? '' : `-${port}`}.${domain}`;
}

/** Two slashes would begin another host's address, and so would a backslash in browsers. */
const WEB_PATH = /^\/(?![/\\])[\x21-\x7e]*$/;

/** Whether a text is a path with its query, within the host that it is read at. */
export function isWebPath(text: string): boolean {
  return WEB_PATH.test(text);
}
