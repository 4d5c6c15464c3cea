import type { Caller } from '../domain/api-keys.js';
import { gpuModels, regions } from '../domain/catalogue.js';
import type { Deps } from '../domain/deps.js';
import { DomainError } from '../domain/rules/errors.js';

/** What one request's resolvers know. Made by the HTTP layer for GraphQL and REST alike. */
export interface GatewayContext {
  deps: Deps;
  /** Null without a valid key. */
  caller: Caller | null;
  /** Called when an answer is the kept one of an earlier, same request. */
  onReplayed(): void;
}

/** The account that the request's key belongs to; refuses with unauthorized. */
export function accountOf(context: GatewayContext): string {
  if (context.caller === null) throw new DomainError('unauthorized', 'missing or unknown API key');
  return context.caller.accountId;
}

type Catalogue = {
  gpuModels: Map<string, Awaited<ReturnType<typeof gpuModels>>[number]>;
  regions: Map<string, Awaited<ReturnType<typeof regions>>[number]>;
};

const catalogues = new WeakMap<GatewayContext, Promise<Catalogue>>();

/** Models and regions by slug and code, read once a request however many offers ask for theirs. */
export function catalogueOf(context: GatewayContext): Promise<Catalogue> {
  const known = catalogues.get(context);
  if (known !== undefined) return known;
  const loading = Promise.all([gpuModels(context.deps), regions(context.deps)]).then(([models, places]) => ({
    gpuModels: new Map(models.map((model) => [model.slug, model])),
    regions: new Map(places.map((place) => [place.code, place])),
  }));
  catalogues.set(context, loading);
  return loading;
}
