import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadCatalogue } from '../../prisma/seed/catalogue.js';

export const MARKET_HEADER = 'listing_id,gpu_slug,num_gpus,price_usd_hour,region\n';

/** The catalogue, which is read only once because reading it takes longer than most tests. */
let models: readonly Readonly<{ slug: string; medianMicro: bigint | null }>[] | undefined;

/** Returns listings for every model at its catalogue median, so that a test can change only one model's price. */
export function market(changes: Record<string, string[]> = {}): string {
  models ??= loadCatalogue().gpuModels;
  const rows = models.flatMap(({ slug, medianMicro }) => {
    const median = Number(medianMicro ?? 0n) / 1e6;
    return (
      changes[slug] ??
      (medianMicro === null ? [] : Array.from({ length: 5 }, () => `${slug},2,${(median * 2).toFixed(4)}`))
    );
  });
  return MARKET_HEADER + rows.map((row, index) => `x-${index},${row},us`).join('\n');
}

/** Returns five listings of a model at one price per GPU. */
export function listings(gpu: string, usd: string): Record<string, string[]> {
  return { [gpu]: Array.from({ length: 5 }, () => `${gpu},1,${usd}`) };
}

/** A real HTTP server that provides market data. */
export interface MarketSource {
  url: string;
  /** Sets the handler of later requests. The initial one returns the catalogue's medians. */
  answers(listener: RequestListener): void;
  /** Number of requests so far. */
  requests(): number;
  /** Resolves once this many requests have arrived. */
  requested(requests: number): Promise<void>;
  close(): Promise<void>;
}

export function csv(text: string): RequestListener {
  return (_request, response) => response.writeHead(200, { 'content-type': 'text/csv' }).end(text);
}

export async function openMarketSource(): Promise<MarketSource> {
  let listener = csv(market());
  let requests = 0;
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    requests += 1;
    for (const check of waiting) check();
    listener(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/listings.csv`,
    answers: (next) => {
      listener = next;
    },
    requests: () => requests,
    requested: (wanted) =>
      new Promise((resolve) => {
        const check = () => {
          if (requests < wanted) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
