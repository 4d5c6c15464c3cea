import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import proxyAddr from 'proxy-addr';
import type { z } from 'zod';
import { joinRequest, MAX_WAIT_SECONDS, report as reportShape } from '../../agent-protocol/protocol.js';
import type { LedgerDeps } from '../../domain/billing/deps.js';
import type { FleetDeps } from '../../domain/fleet/deps.js';
import { join } from '../../domain/fleet/enrolment.js';
import { recordReport } from '../../domain/fleet/observations.js';
import { secretsForAgent } from '../../domain/fleet/start-secrets.js';
import { volumesForAgent } from '../../domain/fleet/volume-access.js';
import { bearerOf } from '../../domain/kernel/bearer.js';
import { clientNetworkOf } from '../../domain/kernel/client-network.js';
import { DomainError } from '../../domain/kernel/errors.js';
import { JSON_TYPE, sendError } from '../error-envelope.js';
import { createFaultLog, describeFault, type LogFault } from '../errors.js';
import { sendJson } from '../send-json.js';
import { createTokenBuckets } from '../token-buckets.js';
import type { IsTrusted } from '../trust-proxy.js';
import { agentOpenApi } from './agent-openapi.js';
import { Places } from './places.js';
import { readBody } from './read-body.js';

/** Path prefix for host agents. */
const AGENT_PATH = '/agent/v1';

const MAX_JOIN_BYTES = 100_000;
const MAX_REPORT_BYTES = 2_000_000;
/** Maximum number of agents that can wait for news in one process. */
const MAX_WAITING = 20_000;
/**
 * Maximum concurrent joins. A join counts once its body has arrived. The number is limited because each join reads the
 * catalogue.
 */
const MAX_JOINING = 8;
/** Maximum concurrent joins per client network, including those whose body is still arriving. */
const MAX_JOINING_PER_NETWORK = 4;
const MAX_START = 1_000_000_000;
const BUSY_RETRY_SECONDS = 5;

export interface AgentApiOptions {
  deps: LedgerDeps & Pick<FleetDeps, 'sealingKeys' | 'fleet' | 'samples'>;
  log: Logger;
  isTrusted: IsTrusted;
}

export function isAgentApi({ url = '' }: IncomingMessage): boolean {
  return url.startsWith(`${AGENT_PATH}/`);
}

type Handler = (request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => Promise<void>;

/** Creates the routes for host agents under `/agent/v1`. */
export function createAgentApi({ deps, log, isTrusted }: AgentApiOptions): RequestListener {
  const { fleet } = deps;
  const { publicUrl } = deps.settings;
  const refusal = () => 'this machine sends too many requests';
  /** Agents report every ten seconds and after every change. After each response, they poll for news again. */
  const reports = createTokenBuckets({ size: 60, everySeconds: 0.25, refusal });
  /**
   * Each tunnel request ends one poll, unless several arrive together, because agents pause for 20 ms between polls.
   */
  const polls = createTokenBuckets({ size: 120, everySeconds: 0.02, refusal });
  const logFault = createFaultLog(log);
  /** The document is only built once it is requested. */
  let document: string | null = null;
  const joiners = new Places(MAX_JOINING_PER_NETWORK);
  let joining = 0;

  const joinHost = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { code, hardware, protocol } = checked(joinRequest, await readBody(request, MAX_JOIN_BYTES));
    if (joining >= MAX_JOINING) throw busy('too many agents are joining');
    joining += 1;
    try {
      const answer = await join(deps, code, hardware, protocol);
      const { hostname, engine, pretended } = hardware;
      log.info({ machine: answer.machineId, gpu: answer.gpu, hostname, engine, pretended }, 'host joined');
      send(response, 201, answer);
    } finally {
      joining -= 1;
    }
  };

  const machineOf = async (request: IncomingMessage): Promise<string> => {
    const token = bearerOf(request.headers.authorization);
    const machineId = token === undefined ? null : await fleet.tokens.machineOf(token);
    if (machineId === null) throw new DomainError('unauthorized', 'missing or unknown host token');
    return machineId;
  };

  const routes: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
    '/join': {
      POST: async (request, response) => {
        const network = clientNetworkOf(proxyAddr(request, isTrusted));
        const joined = joiners.run(network, () => joinHost(request, response));
        if (joined === null) throw busy('too many agents are joining from this address');
        await joined;
      },
    },
    '/desired': {
      GET: async (request, response, query) => {
        const machineId = await machineOf(request);
        polls.take(machineId);
        const after = wholeNumber(query, 'after', Number.MAX_SAFE_INTEGER);
        const wait = wholeNumber(query, 'wait', MAX_WAIT_SECONDS);
        if (fleet.desired.waiting >= MAX_WAITING) throw busy('too many agents are waiting');
        const gone = new AbortController();
        response.once('close', () => gone.abort());
        const dials = query.get('streams') === '1';
        const isWanted = () => dials && fleet.tunnelRequests.has(machineId);
        const news = await fleet.desired.next(machineId, after, wait * 1_000, gone.signal, isWanted);
        // The token may have been revoked in the meantime.
        if (news !== null && (await machineOf(request)) === machineId) {
          const streams = dials ? fleet.tunnelRequests.take(machineId) : [];
          if (streams.length > 0) {
            response.once('close', () => {
              if (!response.writableFinished) fleet.tunnelRequests.putBack(machineId, streams);
            });
          }
          send(response, 200, streams.length > 0 ? { ...news, streams } : news);
        } else if (!response.destroyed) response.writeHead(204).end();
      },
    },
    '/report': {
      POST: async (request, response) => {
        const machineId = await machineOf(request);
        reports.take(machineId);
        try {
          await recordReport(deps, machineId, checked(reportShape, await readBody(request, MAX_REPORT_BYTES)));
        } catch (error) {
          if (error instanceof DomainError) log.warn({ machine: machineId, reason: error.message }, 'report rejected');
          throw error;
        }
        const generation = (await fleet.desired.current(machineId))?.generation ?? 0;
        send(response, 200, { generation, now: Number(deps.clock.now()) });
      },
    },
    '/secrets': {
      GET: async (request, response, query) => {
        const machineId = await machineOf(request);
        polls.take(machineId);
        const start = wholeNumber(query, 'start', MAX_START);
        send(response, 200, await secretsForAgent(deps, machineId, query.get('instance') ?? '', start));
      },
    },
    '/volumes': {
      GET: async (request, response, query) => {
        const machineId = await machineOf(request);
        polls.take(machineId);
        const start = wholeNumber(query, 'start', MAX_START);
        send(response, 200, await volumesForAgent(deps, machineId, query.get('instance') ?? '', start));
      },
    },
    '/openapi.json': {
      GET: async (_request, response) => {
        document ??= JSON.stringify(agentOpenApi(`${publicUrl}${AGENT_PATH}`, publicUrl));
        sendJson(response, 200, JSON_TYPE, document);
      },
    },
  };

  return (request, response) => {
    const { url = '', method = '' } = request;
    const [path = '', query = ''] = url.split('?', 2);
    const methods = routes[path.slice(AGENT_PATH.length)];
    const handler = methods?.[method];
    if (methods !== undefined) request.state.route = path;
    // Polls aren't logged, because there are thousands of identical ones per minute.
    request.state.isRoutine = handler !== undefined && path !== `${AGENT_PATH}/join`;
    const answer = async () => {
      if (methods === undefined) throw new DomainError('no_route', `no such endpoint: ${request.method} ${path}`);
      if (handler === undefined) {
        const allowed = Object.keys(methods).join(', ');
        response.setHeader('Allow', allowed);
        throw new DomainError('method_not_allowed', `${request.method} is not allowed here; allowed: ${allowed}`);
      }
      await handler(request, response, new URLSearchParams(query));
    };
    answer().catch((error) => refuse(request, response, error, logFault));
  };
}

function checked<T>(shape: z.ZodType<T>, value: unknown): T {
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  const { path, message } = read.error.issues[0]!;
  throw new DomainError('invalid_request', `${path.join('.') || 'the body'}: ${message}`);
}

/** Parses a query parameter that is a whole number. Returns 0 if it is omitted. */
function wholeNumber(query: URLSearchParams, name: string, max: number): number {
  const texts = query.getAll(name);
  const value = Number(texts[0] ?? '0');
  if (texts.length <= 1 && /^\d{1,16}$/.test(texts[0] ?? '0') && value <= max) return value;
  throw new DomainError('invalid_request', `${name} must be a whole number from 0 to ${max}`, { field: name });
}

function busy(why: string): DomainError {
  return new DomainError('unavailable', `${why}; try again`, { retryAfterSeconds: BUSY_RETRY_SECONDS });
}

function send(response: ServerResponse, status: number, body: object): void {
  if (!response.destroyed) sendJson(response, status, JSON_TYPE, JSON.stringify(body));
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown, logFault: LogFault): void {
  const fault = describeFault(error);
  logFault(fault, error, { id: request.state.id });
  if (response.headersSent || response.destroyed) response.destroy();
  // The unread rest of the body must not be parsed as the next request.
  else sendError(response, fault, request.complete ? {} : { Connection: 'close' });
}
