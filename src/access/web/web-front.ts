import { type ClientRequest, type IncomingMessage, request as requestPort, type ServerResponse } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import proxyAddr from 'proxy-addr';
import { isUnavailable } from '../../database/faults.js';
import { clientNetworkOf } from '../../domain/kernel/client-network.js';
import { isWebPath, type WebSite, webSiteOf } from '../../domain/kernel/web-site.js';
import type { WebPortDeps } from '../../domain/web-ports/deps.js';
import {
  headersForContainer,
  headersForVisitor,
  isFromElsewhere,
  mayUsePass,
  type Provenance,
  passesOf,
  tokenOf,
  WEB_COOKIE,
  WEB_COOKIE_TLS,
  WEB_TOKEN_HEADER,
} from '../../domain/web-ports/rules/web-headers.js';
import { COOKIE_SECONDS } from '../../domain/web-ports/rules/web-pass.js';
import type { Visit } from '../../domain/web-ports/visits.js';
import { exchangeWebLink, LINK_PATH } from '../../domain/web-ports/web-links.js';
import { type Tunnel, TunnelRefused, type TunnelRequest } from '../tunnels.js';
import { type Exchange, Exchanges } from './exchanges.js';
import { PAGES, sendLanding, sendPage } from './pages.js';
import { PortAgent, portOptions } from './port-agent.js';

/** A connection is cut after this long without a byte in either direction. */
const IDLE_MS = 900_000;
/** Maximum size of a container's response head. */
const MAX_HEAD_BYTES = 65_536;
const ROUTE = 'web port';
/** Time that the container has to end its side of a WebSocket after the visitor has ended theirs. */
const LINGER_MS = 5_000;
const SWITCHING_PROTOCOLS = 101;
const NO_CONTENT = 204;
/** Methods that are safe to repeat and have no body unless they declare one. */
const IDEMPOTENT = new Set<string | undefined>(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

type Page = (typeof PAGES)[keyof typeof PAGES];

const PAGE_OF_REFUSAL: Partial<Record<TunnelRefused['reason'], Page>> = {
  unknown: PAGES.nothing,
  destroyed: PAGES.nothing,
  stopped: PAGES.stopped,
  starting: PAGES.starting,
  busy: PAGES.tooMany,
  no_listener: PAGES.noListener,
  ending: PAGES.unavailable,
};

export interface WebFrontOptions {
  deps: Pick<WebPortDeps, 'db' | 'clock' | 'settings' | 'visits'>;
  /** URL at which agents reach this particular gateway, or null for the URL shared by all gateways. */
  streamsUrl: string | null;
  openTunnel(wanted: TunnelRequest): Promise<Tunnel>;
  /** Returns whether an address, `hop` hops away, belongs to a proxy whose X-Forwarded headers are trusted. */
  isTrusted(address: string, hop: number): boolean;
  /** Called with the gateway's own errors. */
  onFault(error: unknown): void;
}

/** Passes each request for an instance's hostname through a tunnel to one of its container's ports. */
export class WebFront {
  readonly #options: WebFrontOptions;
  readonly #exchanges: Exchanges;
  readonly #agent: PortAgent;
  readonly #ownHosts: readonly string[];
  /** Cached because most requests name the same host as the previous one. */
  #lastHost: string | undefined;
  #lastSite: WebSite | null | undefined;

  constructor(options: WebFrontOptions) {
    this.#options = options;
    const { deps, streamsUrl } = options;
    this.#ownHosts = [deps.settings.publicUrl, streamsUrl].flatMap((url) =>
      url === null ? [] : new URL(url).hostname,
    );
    this.#exchanges = new Exchanges(options.deps, options.onFault);
    // The agent is shared by all visitors of an instance, so tunnels are opened for the account rather than a key.
    // Exchanges that depend on a key are ended here together with that key.
    this.#agent = new PortAgent(({ accountId, instanceId, port }) => {
      const opener = { accountId, apiKeyId: null, sshKeyId: null };
      return options.openTunnel({ opener, instanceId, target: { kind: 'port', port } });
    });
  }

  /**
   * Returns the site named by a request's host. Returns null for a host that only looks like an instance's, and
   * undefined for the gateway's own.
   */
  siteOf({ headers: { host } }: IncomingMessage): WebSite | null | undefined {
    if (host !== this.#lastHost) {
      this.#lastHost = host;
      this.#lastSite = host === undefined ? undefined : this.#siteOfHost(host);
    }
    return this.#lastSite;
  }

  /** Handles a request, or takes over its connection for a WebSocket. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    const site = this.siteOf(request) ?? null;
    request.state.route = ROUTE;
    request.state.isLongLived = true;
    request.socket.setTimeout(IDLE_MS);
    this.#serve(request, response, site).catch((error: unknown) => {
      if (!isUnavailable(error)) this.#options.onFault(error);
      refuse(request, response, PAGES.unavailable);
    });
  }

  /** Number of in-flight requests and open WebSockets. */
  get size(): number {
    return this.#exchanges.size;
  }

  /** Ends all open exchanges. */
  close(): void {
    this.#exchanges.close();
    this.#agent.destroy();
  }

  #siteOfHost(host: string): WebSite | null | undefined {
    return webSiteOf(host, this.#options.deps.settings.serviceDomain, this.#ownHosts);
  }

  async #serve(request: IncomingMessage, response: ServerResponse, site: WebSite | null): Promise<void> {
    const { visits } = this.#options.deps;
    if (isAmbiguous(request)) return refuse(request, response, PAGES.badRequest);
    if (site === null) return refuse(request, response, PAGES.nothing);
    if (request.url?.startsWith(`${LINK_PATH}?`)) return this.#followLink(request, response, site);
    const passes = this.#passesFor(request, site);
    const asOf = visits.changes;
    const addresses = proxyAddr.all(request, this.#options.isTrusted).reverse();
    const address = addresses[0] ?? '';
    const visit = await visits.admit(site, passes, address);
    if (visit === null) return refuse(request, response, PAGES.nothing);
    request.state.accountId = visit.accountId;
    if (!visit.isRunning) return refuse(request, response, PAGES.stopped);
    if (response.destroyed) return;
    const network = clientNetworkOf(address);
    const exchange: Exchange = { visit, site, passes, address, network, end: () => request.socket.destroy() };
    if (!this.#exchanges.begin(exchange)) return refuse(request, response, PAGES.tooMany);
    response.once('close', () => this.#exchanges.end(exchange));
    if (visits.changes !== asOf) this.#exchanges.recheck(exchange);
    if (isFromElsewhere(provenanceOf(request)) && !isUpgrade(request)) return sendLanding(response, request.url!);
    this.#pass(request, response, visit, addresses);
  }

  /**
   * Returns a request's token, and its cookies if it may use them. It may if it comes from the instance's own page or
   * was caused by the visitor's navigation.
   */
  #passesFor(request: IncomingMessage, { instanceId }: WebSite): string[] {
    const { headers } = request;
    const mayUse = mayUsePass(provenanceOf(request), instanceId, (host) => this.#siteOfHost(host));
    const cookies = mayUse ? passesOf(headers.cookie, this.#isTls(request)) : [];
    return [...tokenOf(text(headers[WEB_TOKEN_HEADER.toLowerCase()])), ...cookies];
  }

  /** Follows a web link. Sends the same response for every link that doesn't work, regardless of the reason. */
  async #followLink(request: IncomingMessage, response: ServerResponse, site: WebSite): Promise<void> {
    const { deps } = this.#options;
    if (request.method !== 'GET') return refuse(request, response, PAGES.spentLink);
    const query = new URLSearchParams(request.url!.slice(LINK_PATH.length + 1));
    const port = await deps.visits.portOf(site);
    const pass = query.get('pass') ?? '';
    const cookie = port === null ? null : await exchangeWebLink(deps, pass, site.instanceId, port);
    if (cookie === null) return refuse(request, response, PAGES.spentLink);
    const isTls = this.#isTls(request);
    const name = isTls ? WEB_COOKIE_TLS : WEB_COOKIE;
    const attributes = `Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax${isTls ? '; Secure' : ''}`;
    const path = pathOf(query.get('path'));
    const cookieHeader = { 'Set-Cookie': `${name}=${cookie}; ${attributes}` };
    if (isFromElsewhere(provenanceOf(request))) return sendLanding(response, path, cookieHeader);
    response
      .writeHead(303, {
        Location: path,
        ...cookieHeader,
        'Cache-Control': 'no-store',
        'Referrer-Policy': 'no-referrer',
        'Content-Length': '0',
      })
      .end();
  }

  #isTls({ socket, headers }: IncomingMessage): boolean {
    const proto = text(headers['x-forwarded-proto']);
    if (proto && this.#options.isTrusted(socket.remoteAddress ?? '', 0)) return proto.split(',')[0]!.trim() === 'https';
    return this.#options.deps.settings.publicUrl.startsWith('https:');
  }

  #pass(request: IncomingMessage, response: ServerResponse, visit: Visit, addresses: string[], isRetry = false): void {
    const { headers, rawHeaders, method, url } = request;
    const visitor = { host: headers.host!, addresses, isTls: this.#isTls(request) };
    const outgoing = requestPort({
      agent: this.#agent,
      ...portOptions(visit),
      method,
      path: url,
      maxHeaderSize: MAX_HEAD_BYTES,
      headers: [...headersForContainer(rawHeaders, visitor), ...framing(request)],
    });
    const abandon = () => outgoing.destroy();
    response.once('close', abandon);
    let isAnswered = false;
    outgoing.on('error', (error: Error & { code?: string }) => {
      if (isAnswered || response.destroyed) return;
      isAnswered = true;
      // The container closed an idle connection just as it was being reused.
      const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET';
      if (!isStale || isRetry || !IDEMPOTENT.has(method) || hasBody(request))
        return refuse(request, response, pageOf(error));
      response.off('close', abandon);
      this.#pass(request, response, visit, addresses, true);
    });
    outgoing.on('response', (answer) => {
      isAnswered = true;
      if (!sendHead(answer, response)) {
        outgoing.destroy();
        return refuse(request, response, PAGES.badAnswer);
      }
      // If the container aborts, the connection is cut, because a partial response must not appear complete.
      pipeline(answer, response, () => {});
    });
    outgoing.on('upgrade', (answer, stream, head) => {
      isAnswered = true;
      if (isUpgrade(request)) return join(request, response, answer, stream, head);
      stream.destroy();
      refuse(request, response, PAGES.badAnswer);
    });
    if (hasBody(request)) sendBody(request, outgoing);
    else outgoing.end();
  }
}

function provenanceOf({ method, headers }: IncomingMessage): Provenance {
  return {
    method: method!,
    origin: headers.origin,
    fetchSite: text(headers['sec-fetch-site']),
    fetchMode: text(headers['sec-fetch-mode']),
    fetchDest: text(headers['sec-fetch-dest']),
  };
}

/** Returns whether Node has handed over the connection for a WebSocket. */
function isUpgrade(request: IncomingMessage & { upgrade?: boolean }): boolean {
  return request.upgrade === true;
}

function hasBody(request: IncomingMessage): boolean {
  const { headers } = request;
  return (
    !isUpgrade(request) && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
  );
}

/**
 * Returns whether two programs could interpret the message differently. If so, one of them would mistake part of its
 * body for the next request.
 */
function isAmbiguous(request: IncomingMessage): boolean {
  const { url = '', method, headers } = request;
  const { 'transfer-encoding': coding, 'content-length': length } = headers;
  if (!url.startsWith('/') && !(url === '*' && method === 'OPTIONS')) return true;
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || length !== undefined)) return true;
  return isUpgrade(request) && (method !== 'GET' || coding !== undefined || Number(length ?? 0) > 0);
}

/** Returns the gateway's own headers that define where the message ends. */
function framing(request: IncomingMessage): string[] {
  const { headers, method } = request;
  if (isUpgrade(request)) return ['Connection', 'Upgrade', 'Upgrade', 'websocket'];
  if (headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked'];
  if (headers['content-length'] !== undefined) return ['Content-Length', headers['content-length']];
  return IDEMPOTENT.has(method) || method === 'DELETE' ? [] : ['Content-Length', '0'];
}

function sendBody(request: IncomingMessage, outgoing: ClientRequest): void {
  request.pipe(outgoing);
  request.once('error', () => outgoing.destroy());
  // Drains the rest of a body that the container didn't read. Otherwise, the response would be lost with the
  // connection.
  outgoing.once('close', () => request.unpipe(outgoing).resume());
}

/** Sends the response's head. Returns false if it can't be passed on. */
function sendHead(answer: IncomingMessage, response: ServerResponse): boolean {
  const { statusCode, rawHeaders, headers } = answer;
  const length = headers['content-length'];
  const hasLength = length !== undefined && statusCode !== NO_CONTENT;
  try {
    response.writeHead(statusCode!, [
      ...headersForVisitor(rawHeaders),
      ...(hasLength ? ['Content-Length', length] : []),
    ]);
    // An event stream may be silent for a long time.
    response.flushHeaders();
    return true;
  } catch {
    return false;
  }
}

/** Passes on bytes unchanged in both directions. */
function join(
  request: IncomingMessage,
  response: ServerResponse,
  answer: IncomingMessage,
  stream: Duplex,
  head: Buffer,
): void {
  const { socket } = request;
  stream.on('error', () => {});
  response.once('close', () => stream.destroy());
  response.sendDate = false;
  const upgrade = ['Connection', 'Upgrade', 'Upgrade', 'websocket'];
  try {
    response.writeHead(SWITCHING_PROTOCOLS, [...headersForVisitor(answer.rawHeaders), ...upgrade]);
  } catch {
    stream.destroy();
    refuse(request, response, PAGES.badAnswer);
    return;
  }
  response.flushHeaders();
  if (head.length > 0) stream.unshift(head);
  socket.once('timeout', () => socket.destroy());
  socket.once('end', () => setTimeout(() => socket.destroy(), LINGER_MS).unref());
  pipeline(socket, stream, () => {});
  pipeline(stream, socket, () => socket.destroy());
}

function refuse(request: IncomingMessage, response: ServerResponse, page: Page): void {
  // The unread rest of the body must not be mistaken for the next request.
  sendPage(response, page, request.complete ? {} : { Connection: 'close' });
}

function pageOf(error: Error & { code?: string }): Page {
  if (error instanceof TunnelRefused) return PAGE_OF_REFUSAL[error.reason] ?? PAGES.unreachable;
  return error.code === 'ECONNRESET' || error.code?.startsWith('HPE_') ? PAGES.badAnswer : PAGES.unreachable;
}

/** Returns the path if it is on this host, and otherwise `/`, because a link must not redirect to another host. */
function pathOf(path: string | null): string {
  return path !== null && isWebPath(path) ? path : '/';
}

function text(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join() : header;
}
