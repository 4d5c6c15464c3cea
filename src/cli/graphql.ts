import { GpuConnectionError, GpuRefusal } from '../client/index.js';
import type { RefusalCode } from '../client/types.js';
import type { Settings } from './settings.js';

/** Of one request, until its answer is read. */
const TIMEOUT_MS = 30_000;

/** Asks the service's GraphQL, for what its REST routes don't have; rejects as the client does. */
export async function askGraphql<Data>(settings: Settings, query: string, variables: object = {}): Promise<Data> {
  const url = settings.baseUrl.value.replace(/(\/v1)?\/*$/, '/graphql');
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${settings.apiKey?.value ?? ''}` },
      body: JSON.stringify({ query, variables }),
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    text = await response.text();
  } catch (cause) {
    throw new GpuConnectionError('no_connection', `no connection to ${url}: ${reasonOf(cause)}`, { cause });
  }
  const answer = readAnswer(text);
  const details = { status: response.status, requestId: response.headers.get('x-request-id') };
  const [error] = answer?.errors ?? [];
  const code = error?.extensions?.code ?? answer?.error?.code;
  if (code !== undefined) throw new GpuRefusal(code, error?.message ?? answer?.error?.message ?? code, details);
  if (answer?.data != null && error === undefined) return answer.data as Data;
  const said = error?.message ?? `HTTP ${response.status}`;
  throw new GpuConnectionError('bad_answer', `${url} does not answer as the service does: ${said}`, details);
}

interface Answer {
  data?: unknown;
  errors?: { message: string; extensions?: { code?: RefusalCode } }[];
  /** Before GraphQL is reached, a refusal is as on REST. */
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
