import { expect } from 'vitest';

/** A subscription as a client reads it with fetch. */
export interface EventStream {
  status: number;
  headers: Headers;
  /** Everything received so far, including comments. */
  text(): string;
  /** Resolves to the next event's `data`, to 'complete' at the end, or to 'cut' if the stream was aborted. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape
  next(): Promise<any>;
  /** Disconnects as a client does. */
  abort(): void;
}

export interface Subscribing {
  key?: string;
  variables?: Record<string, unknown>;
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

const PATIENCE_MS = 10_000;

/** Subscribes. Resolves once the response's headers have arrived, so later events are delivered. */
export async function subscribe(address: string, query: string, options: Subscribing = {}): Promise<EventStream> {
  const { key, variables, method = 'POST', headers = {}, signal } = options;
  const gone = new AbortController();
  signal?.addEventListener('abort', () => gone.abort());
  const parameters = { query, ...(variables && { variables }) };
  const inAddress = new URLSearchParams({ query, ...(variables && { variables: JSON.stringify(variables) }) });
  const response = await fetch(`${address}/graphql${method === 'GET' ? `?${inAddress}` : ''}`, {
    method,
    headers: {
      accept: 'text/event-stream',
      ...(key && { authorization: `Bearer ${key}` }),
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(method === 'POST' && { body: JSON.stringify(parameters) }),
    signal: gone.signal,
  });
  let text = '';
  let delivered = 0;
  let isOver = false;
  let wasReadToTheEnd = false;
  const decoder = new TextDecoder();
  const body = response.body as unknown as AsyncIterable<Uint8Array>;
  const read = async () => {
    for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  };
  void read()
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  const found = () => {
    const blocks = text
      .split('\n\n')
      .slice(0, -1)
      .filter((block) => !block.startsWith(':'));
    return blocks[delivered];
  };
  return {
    status: response.status,
    headers: response.headers,
    text: () => text,
    next: async () => {
      const isThere = () => found() !== undefined || isOver;
      await expect.poll(isThere, { timeout: PATIENCE_MS, interval: 10, message: 'an event' }).toBe(true);
      const block = found();
      // Otherwise a loop that waits for an event would never end.
      if (wasReadToTheEnd) throw new Error(`the stream has ended; it ended with: ${text.slice(-500)}`);
      wasReadToTheEnd = block === undefined || block.startsWith('event: complete');
      if (block === undefined) return 'cut';
      delivered += 1;
      if (wasReadToTheEnd) return 'complete';
      const { data, errors } = JSON.parse(block.slice(block.indexOf('data: ') + 'data: '.length));
      return errors === undefined ? Object.values(data)[0] : { code: errors[0].extensions.code, errors, data };
    },
    abort: () => gone.abort(),
  };
}
