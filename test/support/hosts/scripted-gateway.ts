import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type DesiredInstance,
  type DesiredState,
  type JoinRequest,
  joinRequest,
  type ObservedInstance,
  type Report,
  report,
  type StartSecrets,
} from '../../../src/agent-protocol/protocol.js';
import { until } from '../until.js';
import type { ResticStore } from './restic-store.js';

/** The token and join code of a scripted gateway, which serves the agent's protocol as the test sets it. */
export const TOKEN = `gpu_host_${'5'.repeat(40)}`;
export const CODE = 'join-code';

/** How the gateway responds to every request. `away` aborts connections. */
type Mood = 'good' | 'nonsense' | 'half' | 'fault' | 'unauthorized' | 'away';

type Answer = [status: number, body: object];

export class ScriptedGateway {
  mood: Mood = 'good';
  joins: JoinRequest[] = [];
  reports: Report[] = [];
  /** Bodies that violate the protocol. */
  refused: string[] = [];
  polls = 0;
  /** Number of requests answered in a mood other than `good`. */
  answeredBadly = 0;
  /** The secrets that a start receives, or null if a secret was deleted. */
  secrets: StartSecrets | null = { variables: {}, files: {}, registryLogin: null };
  /** Serves the repositories of volumes and provides their passwords. */
  store: ResticStore | null = null;
  /** The starts that have requested their secrets. */
  secretsAsked: string[] = [];
  #document: DesiredState = { generation: 0, instances: [] };
  #waiting = new Set<() => void>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async open(): Promise<ScriptedGateway> {
    const gateway = new ScriptedGateway();
    await new Promise<void>((resolve) => gateway.#server.listen(0, '127.0.0.1', resolve));
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get generation(): number {
    return this.#document.generation;
  }

  /** Sets a new document. Its generation is the next one unless it is given. */
  setDesired(instances: DesiredInstance[], generation = this.#document.generation + 1): void {
    this.#document = { generation, instances };
    this.wake();
  }

  /** Responds to every request that is waiting for a document. */
  wake(): void {
    for (const wake of this.#waiting) wake();
  }

  observed(id: string): ObservedInstance | undefined {
    return this.reports.at(-1)?.instances.find((instance) => instance.id === id);
  }

  /** Resolves to the instance in the first later report that matches. */
  async waitUntil(
    id: string,
    seen: (instance: ObservedInstance) => boolean,
    withinMs = 20_000,
  ): Promise<ObservedInstance> {
    let last: ObservedInstance | undefined;
    try {
      return await until(
        `a report of ${id}`,
        () => {
          last = this.observed(id);
          return last !== undefined && seen(last) ? last : null;
        },
        withinMs,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}; the last one says ${JSON.stringify(last)}`);
    }
  }

  phase(id: string, phase: ObservedInstance['phase'], withinMs?: number): Promise<ObservedInstance> {
    return this.waitUntil(id, (instance) => instance.phase === phase, withinMs);
  }

  /** Resolves to the next report. */
  async next(withinMs = 15_000): Promise<Report> {
    const before = this.reports.length;
    await until('a report', () => this.reports.length > before, withinMs);
    return this.reports.at(-1)!;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith('/volumes/') && this.mood !== 'away') return this.store?.serve(request, response);
    const body = await text(request);
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    if (this.mood !== 'good') return this.#answerBadly(response);
    if (pathname === '/agent/v1/join') return send(response, ...this.#join(body));
    if (request.headers.authorization !== `Bearer ${TOKEN}`) {
      return send(response, 401, { error: { code: 'unauthorized', message: 'The token is not known.' } });
    }
    if (pathname === '/agent/v1/report') return send(response, ...this.#report(body));
    if (pathname === '/agent/v1/desired') {
      this.polls += 1;
      return this.#desired(Number(searchParams.get('after')), Number(searchParams.get('wait')), response);
    }
    if (pathname === '/agent/v1/secrets') {
      this.secretsAsked.push(`${searchParams.get('instance')} ${searchParams.get('start')}`);
      if (this.secrets !== null) return send(response, 200, this.secrets);
      return send(response, 409, { error: { code: 'action_failed', message: 'there is no secret hf' } });
    }
    if (pathname === '/agent/v1/volumes' && this.store !== null) {
      const desired = this.#document.instances.find(({ id }) => id === searchParams.get('instance'));
      const volumes = this.store.access(desired?.volumes ?? []);
      if (volumes.length > 0) return send(response, 200, { volumes });
      return send(response, 409, { error: { code: 'action_failed', message: 'it has no volumes' } });
    }
    send(response, 404, { error: { code: 'no_route', message: 'No such route.' } });
  }

  #join(body: string): Answer {
    const read = joinRequest.safeParse(JSON.parse(body));
    if (!read.success) return [422, { error: { code: 'invalid_request', message: read.error.message } }];
    if (read.data.code !== CODE) {
      return [401, { error: { code: 'unauthorized', message: 'The join code is not known.' } }];
    }
    this.joins.push(read.data);
    return [201, { machineId: 'm-test', token: TOKEN, gpu: 'rtx-4090' }];
  }

  #report(body: string): Answer {
    const read = report.safeParse(JSON.parse(body));
    if (!read.success) {
      this.refused.push(body);
      return [422, { error: { code: 'invalid_request', message: read.error.message } }];
    }
    this.reports.push(read.data);
    return [200, { generation: this.#document.generation }];
  }

  async #desired(after: number, waitSeconds: number, response: ServerResponse): Promise<void> {
    if (this.#document.generation === after) await this.#change(waitSeconds);
    if (this.mood !== 'good') return this.#answerBadly(response);
    if (this.#document.generation === after) send(response, 204, null);
    else send(response, 200, this.#document);
  }

  #change(waitSeconds: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, waitSeconds * 1_000);
      this.#waiting.add(end);
    });
  }

  #answerBadly(response: ServerResponse): void {
    this.answeredBadly += 1;
    if (this.mood === 'away') response.destroy();
    else if (this.mood === 'unauthorized')
      send(response, 401, { error: { code: 'unauthorized', message: 'Revoked.' } });
    else if (this.mood === 'fault') send(response, 500, { error: { code: 'internal', message: 'An error.' } });
    else if (this.mood === 'nonsense') response.end('<html>{"generation":');
    else send(response, 200, { generation: -1, instances: [{ id: '../../etc', phase: 'running' }] });
  }
}

function send(response: ServerResponse, status: number, body: object | null): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body === null ? undefined : JSON.stringify(body));
}

async function text(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}
