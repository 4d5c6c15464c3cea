import { randomBytes } from 'node:crypto';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { Agent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { until } from '../until.js';
import { requestCaddy, type TestCaddy } from './caddy.js';

/** The outcome of one request of the load. */
interface Outcome {
  kind: string;
  protocol: 'HTTP/1.1' | 'HTTP/2';
  /** 0 if there was no response. */
  status: number;
  /** The response's body, or why there is no response. */
  text: string;
  idempotencyKey: string | null;
  /** The machine to deploy, if it is a deploy. */
  machineId: string | null;
}

export interface Load {
  /** Number of expected responses. */
  good(): number;
  /** Requests with any other outcome. */
  failures(): Outcome[];
  /** Number of expected responses by kind and protocol. */
  counts(): Record<string, number>;
  /** Waits until `requests` more responses have arrived. */
  more(requests: number): Promise<void>;
  /** Instances of acknowledged deploys by idempotency key, even if they have been destroyed since. */
  rented(): Map<string, string>;
  stop(): Promise<void>;
}

interface Call {
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

type Send = (call: Call) => Promise<{ status: number; text: string }>;

const MAX_REQUESTS = 100_000;
const WITHIN_MS = 60_000;
/** A worker's pause before each rental. Some requests are always in flight, but the gateways have time to start. */
const PAUSE_MS = 100;
const AFTER_FAILURE_MS = 250;

interface LoadOptions {
  key: string;
  workers: number;
  /** Ids of machines, one per worker plus spare ones for use after a failure. */
  machines: readonly string[];
}

/**
 * Starts a bounded load through Caddy. Each worker sequentially requests public and private data by REST and GraphQL,
 * then rents and destroys its own machine. Half of the workers share one HTTP/2 connection. The others use persistent
 * HTTP/1.1 connections.
 */
export function startLoad(caddy: TestCaddy, { key, workers, machines }: LoadOptions): Load {
  const session = openSession(caddy);
  const agent = new Agent({ keepAlive: true, maxSockets: workers });
  const spare = [...machines];
  const name = randomBytes(4).toString('hex');
  const failed: Outcome[] = [];
  const rented = new Map<string, string>();
  const counts: Record<string, number> = {};
  let [good, total, stopping] = [0, 0, false];
  const authorization = `Bearer ${key}`;

  const worker = async (index: number) => {
    let machineId = spare.shift()!;
    const protocol = index % 2 === 0 ? 'HTTP/2' : 'HTTP/1.1';
    const send: Send =
      protocol === 'HTTP/2'
        ? (call) => askHttp2(session, caddy, call)
        : ({ body, ...call }) =>
            requestCaddy(caddy, { ...call, agent, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const call = async (kind: string, expected: number, what: Call, ofDeploy: Partial<Outcome> = {}) => {
      total += 1;
      const headers = { authorization, ...what.headers };
      const answer = await send({ ...what, headers }).catch((error: Error) => ({ status: 0, text: error.message }));
      if (answer.status === expected) {
        good += 1;
        counts[`${kind} ${protocol}`] = (counts[`${kind} ${protocol}`] ?? 0) + 1;
        return answer.text;
      }
      const { status, text } = answer;
      failed.push({ kind, protocol, status, text, idempotencyKey: null, machineId: null, ...ofDeploy });
      await sleep(AFTER_FAILURE_MS);
      return null;
    };
    for (let round = 0; !stopping && total < MAX_REQUESTS; round += 1) {
      await sleep(PAUSE_MS);
      const idempotencyKey = `${name}-${index}-${round}`;
      await call('offers', 200, { method: 'GET', path: '/v1/offers?limit=3' });
      await call('balance', 200, { method: 'GET', path: '/v1/balance' });
      await call('query', 200, { method: 'POST', path: '/graphql', body: { query: '{ balance { balance } }' } });
      const deployed = await call(
        'deploy',
        201,
        {
          method: 'POST',
          path: '/v1/instances',
          body: { machine_id: machineId, disk_gb: 1 },
          headers: { 'idempotency-key': idempotencyKey },
        },
        { idempotencyKey, machineId },
      );
      const isDone = deployed !== null && (await end(JSON.parse(deployed).id));
      if (deployed !== null) rented.set(idempotencyKey, JSON.parse(deployed).id);
      if (isDone) continue;
      // The machine may remain rented, which the test finds out.
      const next = spare.shift();
      if (next === undefined) return;
      machineId = next;
    }

    async function end(id: string): Promise<boolean> {
      const stop = { method: 'POST', path: `/v1/instances/${id}/actions`, body: { action: 'stop' } };
      if ((await call('stop', 200, stop)) === null) return false;
      return (await call('destroy', 200, { method: 'DELETE', path: `/v1/instances/${id}` })) !== null;
    }
  };
  const ended = Promise.all(Array.from({ length: workers }, (_, index) => worker(index)));
  return {
    good: () => good,
    failures: () => failed,
    counts: () => counts,
    rented: () => rented,
    more: async (requests) => {
      const aim = good + requests;
      await until(`${requests} more requests are answered`, () => good >= aim, WITHIN_MS).catch((error: Error) => {
        throw new Error(`${error.message}; failed so far: ${JSON.stringify(failed.slice(0, 20))}`);
      });
    },
    stop: async () => {
      stopping = true;
      await ended;
      session.close();
      agent.destroy();
    },
  };
}

function openSession(caddy: TestCaddy): ClientHttp2Session {
  const tls = caddy.tls();
  const session = connectHttp2(`https://${tls.servername}:${caddy.port}`, {
    createConnection: () => connectTls({ ...tls, ALPNProtocols: ['h2'] }),
  });
  session.on('error', () => {});
  return session;
}

function askHttp2(session: ClientHttp2Session, caddy: TestCaddy, { method, path, body, headers }: Call) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const stream = session.request({
      ':method': method,
      ':path': path,
      ':authority': `${caddy.apiHost}:${caddy.port}`,
      ...headers,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    });
    let [status, text] = [0, ''];
    stream.setEncoding('utf8');
    stream.on('response', (head) => {
      status = Number(head[':status']);
    });
    stream.on('data', (chunk) => {
      text += chunk;
    });
    stream.on('error', reject);
    stream.on('end', () => resolve({ status, text }));
    stream.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
