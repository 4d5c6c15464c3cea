import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as the gateway sent it. */
export interface SentSpan {
  traceId: string;
  spanId: string;
  /** Undefined for a root span. */
  parentSpanId: string | undefined;
  name: string;
  kind: number;
  attributes: Record<string, unknown>;
  status: number;
  /** In nanoseconds since 1970. */
  startedAt: bigint;
  endedAt: bigint;
}

interface Value {
  stringValue?: string;
  intValue?: number | string;
  boolValue?: boolean;
  arrayValue?: { values: Value[] };
}

/** Receives OTLP as JSON over HTTP, like a collector. */
export interface Receiver {
  url: string;
  spans: SentSpan[];
  /** Everything received, as text. */
  text(): string;
  headers: Record<string, unknown>[];
  /** Leaves requests without a response until it is called with false. */
  hang(isHanging: boolean): void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const spans: SentSpan[] = [];
  const headers: Record<string, unknown>[] = [];
  const waiting = new Set<ServerResponse>();
  let isHanging = false;
  let text = '';
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json') {
      return void response.writeHead(404).end();
    }
    if (isHanging) return void waiting.add(response);
    text += body;
    headers.push(request.headers);
    spans.push(...spansOf(JSON.parse(body)));
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    text: () => text,
    hang: (hangs) => {
      isHanging = hangs;
      // Spans in flight are lost, as when a collector restarts.
      for (const response of waiting) response.writeHead(400).end();
      waiting.clear();
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: as OTLP has it
function spansOf(message: any): SentSpan[] {
  // biome-ignore lint/suspicious/noExplicitAny: as OTLP has it
  const sent = message.resourceSpans.flatMap(({ scopeSpans }: any) => scopeSpans.flatMap(({ spans }: any) => spans));
  // biome-ignore lint/suspicious/noExplicitAny: as OTLP has it
  return sent.map((span: any) => ({
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId || undefined,
    name: span.name,
    kind: span.kind,
    attributes: Object.fromEntries(
      span.attributes.map(({ key, value }: { key: string; value: Value }) => [key, plain(value)]),
    ),
    status: span.status?.code ?? 0,
    startedAt: BigInt(span.startTimeUnixNano),
    endedAt: BigInt(span.endTimeUnixNano),
  }));
}

function plain({ stringValue, intValue, boolValue, arrayValue }: Value): unknown {
  return (
    stringValue ?? (intValue === undefined ? undefined : Number(intValue)) ?? boolValue ?? arrayValue?.values.map(plain)
  );
}
