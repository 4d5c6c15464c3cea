import { GpuConnectionError, GpuRefusal } from '../client/index.js';
import type { RefusalCode } from '../client/types.js';
import type { Settings } from './settings.js';

/** Time limit for a request, including reading its response. */
const TIMEOUT_MS = 30_000;

/**
 * Sends a GraphQL operation, for data that the REST routes don't provide. Rejects with the same errors as the client.
 */
export async function queryGraphql<Data>(settings: Settings, query: string, variables: object = {}): Promise<Data> {
  const url = addressOf(settings);
  const connected = connecting(url);
  const response = await connected(post(settings, 'application/json', { query, variables }));
  const text = await connected(response.text());
  return dataOf<Data>(url, response, text);
}

/** Yields a subscription's events until the service ends it. Rejects with the same errors as `queryGraphql`. */
export async function* followGraphql<Data>(settings: Settings, query: string, variables: object): AsyncGenerator<Data> {
  const url = addressOf(settings);
  const connected = connecting(url);
  const response = await connected(post(settings, 'text/event-stream', { query, variables }));
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    return void dataOf(url, response, await connected(response.text()));
  }
  const decoder = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await connected(reader.read());
    if (done) return;
    const events = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: ?(.+)$/m.exec(event)?.[1];
      if (data !== undefined) yield dataOf<Data>(url, response, data);
    }
  }
}

function addressOf({ baseUrl }: Settings): string {
  return baseUrl.value.replace(/(\/v1)?\/*$/, '/graphql');
}

function post(settings: Settings, accept: string, body: object): Promise<Response> {
  const isStream = accept === 'text/event-stream';
  return fetch(addressOf(settings), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: isStream ? `${accept}, application/json;q=0.5` : accept,
      authorization: `Bearer ${settings.apiKey?.value ?? ''}`,
    },
    body: JSON.stringify(body),
    redirect: 'manual',
    ...(isStream ? {} : { signal: AbortSignal.timeout(TIMEOUT_MS) }),
  });
}

function connecting(url: string): <T>(step: Promise<T>) => Promise<T> {
  return (step) =>
    step.catch((cause) => {
      throw new GpuConnectionError('no_connection', `no connection to ${url}: ${reasonOf(cause)}`, { cause });
    });
}

function dataOf<Data>(url: string, response: Response, text: string): Data {
  const answer = readAnswer(text);
  const details = { status: response.status, requestId: response.headers.get('x-request-id') };
  const [error] = answer?.errors ?? [];
  const code = error?.extensions?.code ?? answer?.error?.code;
  if (code !== undefined) throw new GpuRefusal(code, error?.message ?? answer?.error?.message ?? code, details);
  if (answer?.data != null && error === undefined) return answer.data as Data;
  const detail = error?.message ?? `HTTP ${response.status}`;
  throw new GpuConnectionError('bad_answer', `unexpected response from ${url}: ${detail}`, details);
}

interface Answer {
  data?: unknown;
  errors?: { message: string; extensions?: { code?: RefusalCode } }[];
  /** The error in REST form, if the request was rejected before it reached GraphQL. */
  error?: { code: RefusalCode; message: string };
}

function readAnswer(text: string): Answer | null {
  try {
    return JSON.parse(text) as Answer | null;
  } catch {
    return null;
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string }; message?: string };
  return cause?.code ?? message ?? String(error);
}
