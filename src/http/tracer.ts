import type { IncomingMessage, ServerResponse } from 'node:http';

/** Makes the spans of requests. Where there is no tracing there is none. */
export interface Tracer {
  /** Answers a request within its span, which takes over the trace of its sender. */
  request(request: IncomingMessage, response: ServerResponse, answer: () => void): void;
  /** Ends the span of a request whose answer is a stream: the span covers only its opening. */
  opened(request: IncomingMessage): void;
  /** Runs a GraphQL operation, or the prepared one of a REST route. */
  operation<T>(name: string | null, type: string, run: () => T): T;
}
