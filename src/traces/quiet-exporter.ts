import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';

type Export = SpanExporter['export'];

/** Reports only once when spans can't be sent, and only once when sending works again. */
export class QuietExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #onDelivery: (reason: string | null) => void;
  #isLost = false;

  constructor(exporter: SpanExporter, onDelivery: (reason: string | null) => void) {
    this.#exporter = exporter;
    this.#onDelivery = onDelivery;
  }

  export(spans: ReadableSpan[], done: Parameters<Export>[1]): void {
    this.#exporter.export(spans, (result) => {
      const isLost = result.code !== 0;
      if (isLost !== this.#isLost) this.#onDelivery(isLost ? (result.error?.message ?? 'unknown') : null);
      this.#isLost = isLost;
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }
}
