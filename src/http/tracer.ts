import type { IncomingMessage, ServerResponse } from 'node:http';

/** Creates request spans. Exists only if tracing is enabled. */
export interface Tracer {
  /** Handles a request within its span, which continues the sender's trace. */
  request(request: IncomingMessage, response: ServerResponse, answer: () => void): void;
  /** Ends the span for a request with a streamed response, because the span covers only the opening of the stream. */
  opened(request: IncomingMessage): void;
  /** Runs a GraphQL operation, or a REST route's prepared operation. */
  operation<T>(name: string | null, type: string, run: () => T): T;
}
