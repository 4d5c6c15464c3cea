import type { TadaDocumentNode } from 'gql.tada';

/** Thrown if the service understood the request but refused it. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
    retryAfterSeconds: number | null = null,
    /** The rest of the response. Refused fields are null. Null if the response contains no data. */
    readonly partial: object | null = null,
    /** The invalid input field, if the service names one. */
    readonly field: string | null = null,
  ) {
    super(message);
    this.retryAt = retryAfterSeconds === null ? null : performance.now() + retryAfterSeconds * 1_000;
  }

  /** When a retry is allowed, on the `performance.now()` clock. Null if the service doesn't specify it. */
  readonly retryAt: number | null;
}

/**
 * Thrown if there was no usable response because the network, the gateway or its database is unreachable. The outcome
 * of the request is unknown.
 */
export class Unreachable extends Error {
  /** Whether the request was a write, which may have been executed. */
  isWrite = false;
}

interface Body<Data> {
  data?: Data | null;
  errors?: readonly { message: string; extensions?: { code?: string; retryAfterSeconds?: number; field?: string } }[];
}

export const GRAPHQL_PATH = '/graphql';
const ANSWERS_WITHIN_MS = 20_000;

/** Sends one operation. Throws a Refusal for the first error in the response, even if it also contains data. */
export async function send<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  try {
    const response = await fetchAnswer(GRAPHQL_PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: document, variables }),
    });
    return dataOf(await bodyOf<Body<Data>>(response));
  } catch (error) {
    if (error instanceof Unreachable) error.isWrite = /^\s*mutation/.test(String(document));
    throw error;
  }
}

export function dataOf<Data>({ data, errors }: Body<Data>): Data {
  const error = errors?.[0];
  if (error !== undefined) {
    const { code = 'invalid_request', retryAfterSeconds = null, field = null } = error.extensions ?? {};
    const isPartial = data != null && Object.values(data).some((field) => field !== null);
    throw new Refusal(code, error.message, retryAfterSeconds, isPartial ? data : null, field);
  }
  if (data === undefined || data === null) throw new Unreachable('the answer is empty');
  return data;
}

/**
 * Fetches with a time limit. Throws Unreachable if there is no response, or if a proxy responds because it can't reach
 * its gateway.
 */
export async function fetchAnswer(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
  } catch (error) {
    throw new Unreachable(String(error));
  }
  if (response.status >= 502) throw new Unreachable(`the answer is ${response.status}`);
  return response;
}

export async function bodyOf<Body>(response: Response): Promise<Body> {
  try {
    return (await response.json()) as Body;
  } catch (error) {
    throw new Unreachable(String(error));
  }
}
