import type { z } from 'zod';
import {
  type DesiredState,
  desiredState,
  type JoinAnswer,
  type JoinRequest,
  joinAnswer,
  MAX_WAIT_SECONDS,
  type Report,
  type ReportAnswer,
  reportAnswer,
  type StartSecrets,
  startSecrets,
  type VolumeAccess,
  volumeAccess,
} from '../agent-protocol/protocol.js';
import { deadline } from '../std/deadline.js';

const ANSWERS_WITHIN_MS = 15_000;
const MAX_ANSWER_BYTES = 33_554_432;
const MAX_MESSAGE = 300;

/**
 * `unreachable`: no connection, or a temporary gateway fault. `revoked`: the gateway doesn't know the token. `refused`:
 * the gateway refuses the request. `invalid`: the response doesn't follow the protocol.
 */
export class GatewayFault extends Error {
  constructor(
    readonly kind: 'unreachable' | 'revoked' | 'refused' | 'invalid',
    message: string,
  ) {
    super(message);
  }
}

/** Client for the gateway's `/agent/v1`. Errors never contain the token or the request's content. */
export class Gateway {
  readonly #base: string;

  constructor(
    readonly url: string,
    /** Null until the host has joined. */
    readonly token: string | null,
    private readonly answersWithinMs = ANSWERS_WITHIN_MS,
  ) {
    this.#base = `${url.replace(/\/+$/, '')}/agent/v1`;
  }

  /** Rejects if no gateway responds. */
  async checkReachable(): Promise<void> {
    await this.#request('GET', '/desired?after=0&wait=0', this.answersWithinMs, desiredState).catch((error) => {
      // A refusal also proves that a gateway responds.
      if (error instanceof GatewayFault && error.kind === 'unreachable') throw error;
    });
  }

  async join(request: JoinRequest): Promise<JoinAnswer> {
    const answer = await this.#request('POST', '/join', this.answersWithinMs, joinAnswer, request);
    if (answer === null) throw new GatewayFault('invalid', 'the gateway sent no token');
    return answer;
  }

  /** Requests the desired state. Resolves to null if no document other than `after` arrived within `waitSeconds`. */
  desired(after: number, waitSeconds: number, signal: AbortSignal): Promise<DesiredState | null> {
    const wait = Math.min(waitSeconds, MAX_WAIT_SECONDS);
    const path = `/desired?after=${after}&wait=${wait}&streams=1`;
    return this.#request('GET', path, wait * 1_000 + this.answersWithinMs, desiredState, undefined, signal);
  }

  /** Requests a start's secrets. */
  async secrets(instanceId: string, start: number): Promise<StartSecrets> {
    const path = `/secrets?instance=${instanceId}&start=${start}`;
    const answer = await this.#request('GET', path, ANSWERS_WITHIN_MS, startSecrets);
    if (answer === null) throw new GatewayFault('invalid', 'the gateway sent no secrets');
    return answer;
  }

  /** Requests access to the volumes leased to the instance for this start. */
  async volumes(instanceId: string, start: number): Promise<VolumeAccess> {
    const path = `/volumes?instance=${instanceId}&start=${start}`;
    const answer = await this.#request('GET', path, ANSWERS_WITHIN_MS, volumeAccess);
    if (answer === null) throw new GatewayFault('invalid', 'the gateway sent no volume credentials');
    return answer;
  }

  async report(report: Report, signal: AbortSignal): Promise<ReportAnswer> {
    const answer = await this.#request('POST', '/report', this.answersWithinMs, reportAnswer, report, signal);
    if (answer === null) throw new GatewayFault('invalid', 'the gateway sent no generation');
    return answer;
  }

  async #request<T>(
    method: string,
    path: string,
    withinMs: number,
    shape: z.ZodType<T>,
    body?: object,
    signal?: AbortSignal,
  ): Promise<T | null> {
    const limit = deadline(withinMs, signal);
    const [status, text] = await this.#fetch(method, path, body, limit.signal).finally(limit.clear);
    if (status === 204) return null;
    if (status < 200 || status > 299) throw faultOf(status, text);
    const read = shape.safeParse(parse(text));
    if (read.success) return read.data;
    const { path: where = [], message = '' } = read.error.issues[0] ?? {};
    throw new GatewayFault('invalid', `invalid response from the gateway: ${where.join('.')} ${message}`);
  }

  async #fetch(method: string, path: string, body: object | undefined, signal: AbortSignal): Promise<[number, string]> {
    try {
      const answer = await fetch(this.#base + path, {
        method,
        headers: {
          ...(this.token === null ? {} : { authorization: `Bearer ${this.token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // The token must only be sent to this URL.
        redirect: 'error',
        signal,
      });
      return [answer.status, await bounded(answer)];
    } catch (error) {
      if (error instanceof GatewayFault) throw error;
      const { message, cause } = error as Error & { cause?: Error };
      throw new GatewayFault('unreachable', cause?.message || message);
    }
  }
}

function faultOf(status: number, text: string): GatewayFault {
  const { error } = (parse(text) ?? {}) as { error?: { message?: unknown } };
  const message = typeof error?.message === 'string' ? error.message.slice(0, MAX_MESSAGE) : `HTTP ${status}`;
  if (status === 401) return new GatewayFault('revoked', message);
  return new GatewayFault(status >= 500 || status === 429 ? 'unreachable' : 'refused', message);
}

async function bounded(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (answer.body === null) return '';
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new GatewayFault('invalid', "the gateway's response is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
