import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { parseTraceParent } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  type Sampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Tracer } from '../http/tracer.js';
import { QuietExporter } from './quiet-exporter.js';

export interface TracesOptions {
  /** URL of the OTLP/HTTP endpoint, excluding /v1/traces. */
  url: string;
  headers: Readonly<Record<string, string>>;
  service: string;
  sampler: string;
  /** Sampling ratio, for samplers that use one. */
  ratio: number;
  /** Called with the reason when spans can't be sent, and with null when sending works again. */
  onDelivery(reason: string | null): void;
}

/** Creates spans for requests and the work done for them, and sends the spans to a collector. */
export interface Traces extends Tracer {
  /** Runs one of the domain's use cases within a span. */
  useCase<T>(name: string, run: () => T): T;
  /** Creates spans for database statements in traced requests. */
  statements: { isFollowing(): boolean; began(text: string): (error: unknown) => void };
  /** Returns headers that propagate the current trace to another service. */
  outgoing(): Record<string, string>;
  /** Sends the finished spans and stops. */
  close(): Promise<void>;
}

/** Maximum number of spans waiting to be sent. Any more are dropped. */
const MAX_WAITING = 2_048;
/** Maximum number of spans per message, and the interval between two messages. */
const MAX_BATCH = 512;
const SEND_EVERY_MS = 1_000;
/** Time limit for sending a message, including retries. */
const SENT_WITHIN_MS = 10_000;
/** Maximum length of a recorded statement. */
const MAX_TEXT_CHARACTERS = 500;
/**
 * Maximum number of statements whose span attributes are cached. The code has a few hundred statements, and some more
 * that vary with the number of rows.
 */
const MAX_STATEMENTS = 1_000;
const FIRST_FAULT = 500;

/**
 * Starts tracing. A span contains only text from the code and what a log line may contain: the method, route template,
 * status, error codes, operation name, and statements without values. It never contains a path, query, header, body,
 * address, account or error message.
 */
export function openTraces(options: TracesOptions): Traces {
  const { url, headers, service, onDelivery } = options;
  const exporter = new OTLPTraceExporter({
    url: `${url}/v1/traces`,
    headers: { ...headers },
    timeoutMillis: SENT_WITHIN_MS,
  });
  const sampler = samplerOf(options);
  const ids = new RequestIdsAsTraceIds();
  const provider = new BasicTracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({ 'service.name': service, 'service.instance.id': String(process.pid) }),
    sampler,
    spanProcessors: [
      new BatchSpanProcessor(new QuietExporter(exporter, onDelivery), {
        maxQueueSize: MAX_WAITING,
        maxExportBatchSize: MAX_BATCH,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: SENT_WITHIN_MS,
      }),
    ],
  });
  const tracer = provider.getTracer('gpu-rental-gateway');
  /** The current span, which is set only for traced requests. */
  const running = new AsyncLocalStorage<Span>();
  const spans = new WeakMap<IncomingMessage, () => void>();
  const statements = new Statements();

  /** Starts a child of the current span. Returns null if there is no current span or it has ended. */
  const begin = (name: string, kind: SpanKind, attributes: Attributes): Span | null => {
    const parent = running.getStore();
    if (parent === undefined || !parent.isRecording()) return null;
    return tracer.startSpan(name, { kind, attributes }, trace.setSpan(ROOT_CONTEXT, parent));
  };

  const within = <T>(name: string, attributes: Attributes, run: () => T): T => {
    const span = begin(name, SpanKind.INTERNAL, attributes);
    if (span === null) return run();
    try {
      const result = running.run(span, run);
      if (!(result instanceof Promise)) {
        span.end();
        return result;
      }
      result.then(
        () => span.end(),
        (error: unknown) => fail(span, error),
      );
      return result;
    } catch (error) {
      fail(span, error);
      throw error;
    }
  };

  return {
    request: (request, response, answer) => {
      const { method = '' } = request;
      const { id } = request.state;
      const parent = senderOf(request);
      const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
      // Decided first, because creating a span that isn't sent takes a tenth as long as a cached public response.
      const { decision } = sampler.shouldSample(context, parent?.traceId ?? id, '', SpanKind.SERVER, {}, []);
      if (decision !== SamplingDecision.RECORD_AND_SAMPLED) return answer();
      ids.traceId = id;
      const attributes = { 'http.request.method': method, 'gateway.request.id': id };
      const span = tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, context);
      request.state.traceId = span.spanContext().traceId;
      const end = () => {
        if (spans.delete(request)) endRequest(span, request, response);
      };
      spans.set(request, end);
      response.once('close', end);
      running.run(span, answer);
    },
    opened: (request) => spans.get(request)?.(),
    operation: (name, type, run) => {
      const named = name === null ? {} : { 'graphql.operation.name': name };
      return within(`${type} ${name ?? ''}`.trim(), { ...named, 'graphql.operation.type': type }, run);
    },
    useCase: (name, run) => within(name, { 'gateway.use_case': name }, run),
    statements: {
      isFollowing: () => running.getStore()?.isRecording() === true,
      began: (text) => {
        const { name, attributes } = statements.of(text);
        const span = begin(name, SpanKind.CLIENT, attributes)!;
        return (error) => (error === null ? span.end() : fail(span, error));
      },
    },
    outgoing: (): Record<string, string> => {
      const context = running.getStore()?.spanContext();
      return context === undefined ? {} : { traceparent: `00-${context.traceId}-${context.spanId}-01` };
    },
    close: () => provider.shutdown(),
  };
}

/** Ends a span as failed. The error's message is omitted, because it may repeat a caller's input. */
function fail(span: Span, error: unknown): void {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  const type = typeof code === 'string' ? code : typeof name === 'string' ? name : 'error';
  span.setAttribute('error.type', type).setStatus({ code: SpanStatusCode.ERROR }).end();
}

function endRequest(span: Span, { method, state }: IncomingMessage, { statusCode }: ServerResponse): void {
  span.updateName(`${method} ${state.route}`);
  span.setAttributes({ 'http.route': state.route, 'http.response.status_code': statusCode });
  if (state.refusals.length > 0) span.setAttribute('gateway.refusals', state.refusals.slice(0, 10));
  if (statusCode >= FIRST_FAULT) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function senderOf({ headers }: IncomingMessage): SpanContext | null {
  const { traceparent } = headers;
  const parent = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null;
  return parent && { ...parent, isRemote: true };
}

/**
 * Uses the id of a trace's first request as the trace id. It is just as random, and lets the trace be found by
 * X-Request-Id.
 */
class RequestIdsAsTraceIds extends RandomIdGenerator {
  traceId = '';
  override generateTraceId = () => this.traceId;
}

/** Caches span attributes by statement text, because there are only a few hundred statements. */
class Statements {
  readonly #known = new Map<string, { name: string; attributes: Attributes }>();

  of(text: string): { name: string; attributes: Attributes } {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const tidy = text.replace(/\s+/g, ' ').trim().slice(0, MAX_TEXT_CHARACTERS);
    const [word = ''] = tidy.split(/\W/, 1);
    const verb = word.toUpperCase();
    const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': verb, 'db.query.text': tidy };
    const span = { name: `SQL ${verb}`, attributes };
    if (this.#known.size < MAX_STATEMENTS) this.#known.set(text, span);
    return span;
  }
}

function samplerOf({ sampler, ratio }: TracesOptions): Sampler {
  const root = sampler.endsWith('traceidratio')
    ? new TraceIdRatioBasedSampler(ratio)
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new AlwaysOnSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
