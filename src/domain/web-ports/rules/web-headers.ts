import { required } from '../../../std/required.js';
import type { WebSite } from '../../kernel/web-site.js';
import { isWebPass } from './web-pass.js';

/** Headers in Node's raw form, with alternating names and values. */
export type RawHeaders = readonly string[];

/**
 * Cookie that grants a browser access. Over TLS, its name binds it to a single host, so that other instances on the
 * domain can't set a cookie with this name.
 */
export const WEB_COOKIE = 'gpu_web';
export const WEB_COOKIE_TLS = `__Host-${WEB_COOKIE}`;
/**
 * Header that grants a program access. `Authorization` isn't used because it belongs to the program in the container.
 */
export const WEB_TOKEN_HEADER = 'X-Web-Token';
const WEB_TOKEN = WEB_TOKEN_HEADER.toLowerCase();
/** Maximum number of passes per request. Any more don't fit into the header section, so no pass can hide another. */
const MAX_PASSES = 400;

/** The gateway's own cookies, used by web links and the console. */
const OWN_COOKIE = /^(__Host-|__Secure-)?(gpu_web|console)$/i;
/** Matches the gateway's own secrets anywhere in a header. */
const OWN_SECRET = /gpu_(live|host|join)_[0-9a-f]{40}/i;
/** Headers that apply only to a single connection (RFC 9110, 7.6.1), and headers that the gateway writes itself. */
const HOP_BY_HOP = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Headers about a visitor that only a proxy may set. */
const PROXY_HEADERS =
  /^(x-forwarded(-.*)?|forwarded|via|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip|fastly-client-ip)$/;
/**
 * Headers that affect more than the host that sends them, such as the whole domain's cookies or the gateway's address.
 */
const BEYOND_ITS_HOST = new Set(['clear-site-data', 'alt-svc']);

export interface VisitorRequest {
  /** The Host header as sent by the visitor. */
  host: string;
  /** The visitor's address, followed by the addresses of trusted proxies, ending with the nearest one. Never empty. */
  addresses: readonly string[];
  isTls: boolean;
}

/** Returns the visitor's headers to send to the container, excluding those that frame the message. */
export function headersForContainer(raw: RawHeaders, { host, addresses, isTls }: VisitorRequest): string[] {
  const passed = filtered(raw, (name, value) => {
    if (name === 'host' || name === WEB_TOKEN || PROXY_HEADERS.test(name) || holdsSecret(value)) return null;
    return name === 'cookie' ? withoutOwnCookies(value) : value;
  });
  const added = ['X-Forwarded-For', addresses.join(', '), 'X-Forwarded-Proto', isTls ? 'https' : 'http'];
  return [
    'Host',
    host,
    ...passed,
    ...added,
    'X-Forwarded-Host',
    host,
    'X-Real-IP',
    required(addresses[0], 'address of a visitor'),
  ];
}

/** Returns the container's headers to send to the visitor, excluding those that frame the message. */
export function headersForVisitor(raw: RawHeaders): string[] {
  return filtered(raw, (name, value) => {
    if (BEYOND_ITS_HOST.has(name)) return null;
    return name === 'set-cookie' ? ownHostOnly(value) : value;
  });
}

/**
 * Returns a request's distinct passes, in cookie order. Over TLS, only the cookie that other instances can't set is
 * used. Values that can't be a pass don't count towards the maximum.
 */
export function passesOf(cookie: string | undefined, isTls: boolean): string[] {
  const wanted = isTls ? WEB_COOKIE_TLS : WEB_COOKIE;
  const pairs = (cookie ?? '').split(';').map((pair) => splitAt(pair, '='));
  const passes = pairs.filter(([name, value]) => name === wanted && isWebPass(value)).map(([, value]) => value);
  return [...new Set(passes)].slice(0, MAX_PASSES);
}

export interface Provenance {
  method: string;
  origin: string | undefined;
  fetchSite: string | undefined;
  fetchMode: string | undefined;
  fetchDest: string | undefined;
}

/**
 * Whether a request may use its sender's pass. Browsers treat all instances as one site, so if only SameSite protected
 * them, one instance's page could act on another instance using the visitor's cookie. The pass may be used by the same
 * instance's pages and for pages that the visitor opens in a tab. `siteOf` interprets an origin's host.
 */
export function mayUsePass(
  { method, origin, fetchSite, fetchMode, fetchDest }: Provenance,
  instanceId: string,
  siteOf: (host: string) => WebSite | null | undefined,
): boolean {
  if (origin !== undefined) return siteOf(origin.replace(/^[a-z]+:\/\//i, ''))?.instanceId === instanceId;
  if (fetchSite === undefined || fetchSite === 'same-origin' || fetchSite === 'none') return true;
  return fetchMode === 'navigate' && fetchDest === 'document' && (method === 'GET' || method === 'HEAD');
}

/** Returns the pass from the header used by programs. A browser sends this header only for pages that know the pass. */
export function tokenOf(header: string | undefined): string[] {
  return header !== undefined && isWebPass(header) ? [header] : [];
}

/**
 * Whether the visitor was sent here by a page on another site. Programs in the container reject such requests, so the
 * gateway first shows a page on the instance's own host. The request made by that page then has the same origin.
 */
export function isFromElsewhere({ method, fetchSite, fetchMode, fetchDest }: Provenance): boolean {
  const isVisit = method === 'GET' && fetchMode === 'navigate' && fetchDest === 'document';
  return isVisit && (fetchSite === 'cross-site' || fetchSite === 'same-site');
}

/** Omits headers that apply only to a single connection and headers for which `pass` returns null. */
function filtered(raw: RawHeaders, pass: (name: string, value: string) => string | null): string[] {
  const named = namedByConnection(raw);
  const passed: string[] = [];
  for (const [rawName, rawValue] of pairsOf(raw)) {
    const name = rawName.toLowerCase();
    if (HOP_BY_HOP.has(name) || named.has(name)) continue;
    const value = pass(name, rawValue);
    if (value !== null) passed.push(rawName, value);
  }
  return passed;
}

/** Yields each header's name and value. */
function* pairsOf(raw: RawHeaders): Generator<[name: string, value: string]> {
  for (let index = 0; index < raw.length; index += 2) yield [raw[index] ?? '', raw[index + 1] ?? ''];
}

/** Returns the names of the headers that the sender declared to be specific to this connection. */
function namedByConnection(raw: RawHeaders): Set<string> {
  const names = new Set<string>();
  for (const [name, value] of pairsOf(raw)) {
    if (name.toLowerCase() !== 'connection') continue;
    for (const option of value.split(',')) names.add(option.trim().toLowerCase());
  }
  return names;
}

function holdsSecret(value: string): boolean {
  if (OWN_SECRET.test(value)) return true;
  const basic = /^basic +([a-z0-9+/=_-]+) *$/i.exec(value)?.[1];
  return basic !== undefined && OWN_SECRET.test(Buffer.from(basic, 'base64').toString('latin1'));
}

function withoutOwnCookies(cookie: string): string | null {
  const kept = cookie.split(';').filter((pair) => !OWN_COOKIE.test(splitAt(pair, '=')[0]));
  return kept.length === 0 ? null : kept.join(';').trim();
}

/**
 * Restricts a cookie to the host that set it, by removing the cookie's domain. Returns null if the cookie could be
 * mistaken for one of the gateway's own.
 */
function ownHostOnly(setCookie: string): string | null {
  const [pair = '', ...attributes] = setCookie.split(';');
  if (OWN_COOKIE.test(splitAt(pair, '=')[0])) return null;
  return [pair, ...attributes.filter((attribute) => splitAt(attribute, '=')[0].toLowerCase() !== 'domain')].join(';');
}

function splitAt(text: string, separator: string): [name: string, value: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text.trim(), ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}
