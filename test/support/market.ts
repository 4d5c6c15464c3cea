import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadCatalogue } from '../../prisma/seed/catalogue.js';

export const MARKET_HEADER = 'listing_id,gpu_slug,num_gpus,price_usd_hour,region\n';

/** Read once: reading it takes longer than most tests. */
let models: readonly Readonly<{ slug: string; medianMicro: bigint | null }>[] | undefined;

/** Listings for every model at its catalogue median, so that one model's can be moved alone. */
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

/** Five listings of a model at one price per GPU. */
export function listings(gpu: string, usd: string): Record<string, string[]> {
  return { [gpu]: Array.from({ length: 5 }, () => `${gpu},1,${usd}`) };
}

/** A real HTTP server that market data is fetched from. */
export interface MarketSource {
  url: string;
  /** What it answers from now on; at first the catalogue's medians. */
  answers(listener: RequestListener): void;
  /** Requests so far. */
  requests(): number;
  /** Resolves when that many requests have come. */
  asked(requests: number): Promise<void>;
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
    for (const tell of waiting) tell();
    listener(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/listings.csv`,
    answers: (next) => {
      listener = next;
    },
    requests: () => requests,
    asked: (wanted) =>
      new Promise((resolve) => {
        const tell = () => {
          if (requests < wanted) return;
          waiting.delete(tell);
          resolve();
        };
        waiting.add(tell);
        tell();
      }),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
