import type { ServerResponse } from 'node:http';
import type { ExecutionResult, GraphQLError } from 'graphql';
import { type FetchAPI, getSSEProcessor, processRegularResult } from 'graphql-yoga';
import { STATUS_OF } from '../../domain/kernel/errors.js';
import { sendJson } from '../send-json.js';
import { JSON_ANSWER, RESPONSE_ANSWER, STREAM_ANSWER } from './read-request.js';

const BAD_REQUEST = 400;
/** Interval between the comments that keep a connection from being closed as idle. */
const PING_EVERY_MS = 5_000;
const PING = ':\n\n';

/** A result with masked errors. */
export type Result = Pick<ExecutionResult, 'data' | 'extensions'> & { errors?: readonly Error[] };
/** A result whose data is already serialized. */
export interface Written extends ExecutionResult {
  text: string;
}
export type Results = Result | Written | AsyncIterable<Result>;

/** Returns a function that sends results in the formats of Yoga's processors: JSON and server-sent events. */
export function createSendResult(
  fetchAPI: FetchAPI,
): (response: ServerResponse, type: string, result: Results) => Promise<void> {
  const toEvents = getSSEProcessor();
  const eventsAPI = { ...fetchAPI, ReadableStream: onDemand(fetchAPI.ReadableStream) };
  return async (response, type, result) => {
    if (isPlain(result) && type !== STREAM_ANSWER) return sendJson(response, 200, contentType(type), textOf(result));
    // Yoga's processors also accept streams, which their type omits.
    const processed = result as ExecutionResult;
    if (type === STREAM_ANSWER) {
      const status = streamStatus(response.req.method, result);
      return sendEvents(response, await toEvents(processed, eventsAPI, type), status);
    }
    return sendWithStatus(response, processRegularResult(processed, fetchAPI, type));
  };
}

/** Returns whether the result contains only data, in which case no error or extension affects the status. */
export function isPlain(result: Results): result is Result {
  return !(Symbol.asyncIterator in result) && result.errors === undefined && result.extensions === undefined;
}

export function textOf(result: Result | Written): string {
  return 'text' in result ? result.text : JSON.stringify(result);
}

/**
 * Returns the content type for an error response to a request whose response would have had `type`. A stream can only
 * be rejected before it begins.
 */
export function refusalType(type = JSON_ANSWER): string {
  return type === STREAM_ANSWER ? RESPONSE_ANSWER : type;
}

export function contentType(type: string): string {
  return `${type}; charset=utf-8`;
}

async function sendWithStatus(response: ServerResponse, answer: Response): Promise<void> {
  const { 'content-type': type, ...headers } = Object.fromEntries(answer.headers);
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  sendJson(response, answer.status, type!, await answer.text());
}

/**
 * Returns a stream class that doesn't create events in advance, because they would be outdated by the time they are
 * sent.
 */
function onDemand(Streams: typeof ReadableStream): typeof ReadableStream {
  const make = (source: UnderlyingDefaultSource) => new Streams(source, { highWaterMark: 0 });
  return new Proxy(Streams, { construct: (_streams, [source]) => make(source) });
}

/**
 * Sends events until either side ends the stream. A client that disconnects cancels the subscription. The next event is
 * only created once the system has accepted the previous one. If a client doesn't read, one event waits here, and all
 * later changes are combined into one more.
 */
async function sendEvents(
  response: ServerResponse,
  answer: Response,
  statusOf: (status: number) => number,
): Promise<void> {
  const { 'content-encoding': _notACoding, ...headers } = Object.fromEntries(answer.headers);
  // Proxies must not buffer events.
  response.writeHead(statusOf(answer.status), { ...headers, 'X-Accel-Buffering': 'no' });
  const reader = answer.body!.getReader();
  const pinging = setInterval(() => response.writableLength === 0 && response.write(PING), PING_EVERY_MS);
  const stop = () => {
    clearInterval(pinging);
    reader.cancel().catch(() => {});
  };
  response.once('close', stop);
  // A client may have disconnected while its subscription was opened.
  if (response.destroyed) stop();
  try {
    for (let next = await reader.read(); !next.done && !response.destroyed; next = await reader.read())
      await written(response, next.value);
    clearInterval(pinging);
    response.end();
  } catch {
    response.destroy();
  }
}

/** Resolves when the system has accepted the bytes or the client has disconnected. */
function written(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
    if (response.destroyed) resolve();
    response.write(bytes, () => {
      response.off('close', resolve);
      resolve();
    });
  });
}

/**
 * Returns the function that determines a stream's status. For a POST, an error that would recur on a retry is sent as
 * an event in a stream with status 200, because graphql-sse treats any other status as a lost connection and silently
 * retries for most of a minute. EventSource, which uses GET, would reconnect after any stream with status 200.
 */
function streamStatus(method: string | undefined, result: Results): (status: number) => number {
  if (method === 'POST') {
    return (status) => (status >= 400 && status < 500 && status !== STATUS_OF.rate_limited ? 200 : status);
  }
  if (Symbol.asyncIterator in result || result.errors === undefined || result.data !== undefined)
    return (status) => status;
  // Errors in a document have no status of their own, so they get the one used with application/graphql-response+json.
  const { extensions } = result.errors[0] as GraphQLError;
  const ownStatus = typeof extensions?.status === 'number' ? extensions.status : BAD_REQUEST;
  return (status) => (status === 200 ? ownStatus : status);
}
