import type { IncomingMessage, ServerResponse } from 'node:http';

/** Creates the spans of requests. Exists only if tracing is enabled. */
export interface Tracer {
  /** Handles a request within its span, which continues the sender's trace. */
  request(request: IncomingMessage, response: ServerResponse, answer: () => void): void;
  /** Ends the span of a request with a streamed response, because the span only covers the opening of the stream. */
  opened(request: IncomingMessage): void;
  /** Runs a GraphQL operation, or the prepared operation of a REST route. */
  operation<T>(name: string | null, type: string, run: () => T): T;
}
