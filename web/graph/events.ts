import type { TadaDocumentNode } from 'gql.tada';
import { dataOf, GRAPHQL_PATH, Refusal, Unreachable } from './send.js';

/** Time without data after which a stream is considered dead. The service sends a comment every 12 s. */
const SILENT_FOR_MS = 30_000;
/** Maximum length of an event. */
const MAX_EVENT = 2_000_000;

/**
 * Follows a subscription until it ends. Resolves when the service completes it, for example because a gateway is
 * shutting down. Throws Unreachable if the connection is lost, and a Refusal if the service rejects the subscription or
 * ends it for a reason.
 */
export async function follow<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  { signal, onOpen, onEvent }: { signal: AbortSignal; onOpen(): void; onEvent(data: Data): void },
): Promise<void> {
  const silence = new AbortController();
  let watchdog = setTimeout(() => silence.abort(), SILENT_FOR_MS);
  const onBytes = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => silence.abort(), SILENT_FOR_MS);
  };
  try {
    const response = await fetch(GRAPHQL_PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: document, variables }),
      signal: AbortSignal.any([signal, silence.signal]),
    });
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      if (response.status >= 502) throw new Unreachable(`the answer is ${response.status}`);
      dataOf(await response.json());
      throw new Unreachable('the answer is not a stream');
    }
    onOpen();
    for await (const { name, data } of eventsOf(response.body!, onBytes)) {
      if (name === 'complete') return;
      if (name === 'next') onEvent(dataOf(JSON.parse(data)));
    }
    throw new Unreachable('the stream ended early');
  } catch (error) {
    throw error instanceof Refusal || error instanceof Unreachable ? error : new Unreachable(String(error));
  } finally {
    clearTimeout(watchdog);
    silence.abort();
  }
}

async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<{ name: string; data: string }> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onBytes();
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_EVENT) throw new Unreachable('an event is too long');
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      if (name !== undefined) yield { name, data: /^data: (.*)$/m.exec(block)?.[1] ?? '' };
    }
  }
}
