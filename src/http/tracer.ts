import type { IncomingMessage, ServerResponse } from 'node:http';

/** Creates the spans of requests. Exists only with tracing. */
export interface Tracer {
  /** Answers a request within its span, which continues the sender's trace. */
  request(request: IncomingMessage, response: ServerResponse, answer: () => void): void;
  /** Ends the span of a request whose answer is a stream: the span covers only its opening. */
  opened(request: IncomingMessage): void;
  /** Runs a GraphQL operation, or the prepared one of a REST route. */
  operation<T>(name: string | null, type: string, run: () => T): T;
}
