import type { ResultOf } from 'gql.tada';
import { useEffect, useState } from 'preact/hooks';
import { compareFits, type FitOrder } from '../figures/fit-order.js';
import { micro } from '../figures/money.js';
import { joinWords } from '../figures/words.js';
import { type ModelMemory, OfferSearch } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { MACHINE } from './deploy-link.js';
import type { OfferFilter } from './filters.js';
import { draft } from './launch-draft.js';
import { EMPTY } from './launch-form.js';
import { go, withParameters } from './location.js';
import { bandwidthOf, MAX_PAGE, type Offer } from './offers.js';

export type Memory = NonNullable<ResultOf<typeof ModelMemory>['modelMemory']>;
type Split = Memory['splits'][number];

/** A machine that is large enough for a model, and how the model is split across its GPUs. */
export interface Fit {
  offer: Offer;
  split: Split;
}

const TEMPLATE = 'vllm';
/** The vLLM image needs CUDA 12. */
const CUDA_MIN = '12.0';
const MAX_FITS = 12;
/** The API's maximum list length. */
const MAX_MODELS = 100;
/** Maximum number of searches for a number of GPUs. Each finds at least one more model. */
const MAX_SEARCHES = 12;

interface Fits {
  /** Null until they are known. */
  fits: readonly Fit[] | null;
  error: unknown;
}

/** Finds the cheapest free machine of each kind that is large enough for a model. */
export function useFits(memory: Memory): Fits {
  const [state, setState] = useState<Fits>({ fits: null, error: null });
  useEffect(() => {
    let isCurrent = true;
    const set = (next: Fits) => isCurrent && setState(next);
    findFits(memory, () => isCurrent).then(
      (fits) => set({ fits, error: null }),
      (error) => set({ fits: null, error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [memory]);
  return state;
}

async function findFits({ splits, diskGb, gpus: supported }: Memory, isWanted: () => boolean): Promise<Fit[]> {
  const gpus = supported.slice(0, MAX_MODELS);
  const found = await Promise.all(
    splits.map(async (split) => {
      const { gpus: count, vramGbMin } = split;
      const filter = { numMin: count, numMax: count, vramGbMin, diskGbMin: diskGb, cudaMin: CUDA_MIN };
      const running = await cheapestOfModels({ ...filter, hasAgent: true }, gpus, isWanted);
      const others = gpus.filter((gpu) => !running.some((offer) => offer.gpu === gpu));
      const agentless = await cheapestOfModels({ ...filter, hasAgent: false }, others, isWanted);
      return [...running, ...agentless].map((offer) => ({ offer, split }));
    }),
  );
  return found.flat();
}

/** Returns the cheapest matching offer of each model that has one, or fewer once they aren't wanted any more. */
async function cheapestOfModels(
  filter: OfferFilter,
  gpus: readonly string[],
  isWanted: () => boolean,
): Promise<Offer[]> {
  const cheapest = new Map<string, Offer>();
  for (let search = 0; search < MAX_SEARCHES && isWanted(); search += 1) {
    const missing = gpus.filter((gpu) => !cheapest.has(gpu));
    // An empty list would stand for all models.
    if (missing.length === 0) break;
    const { offerSearch } = await send(OfferSearch, {
      filter: { ...filter, gpus: missing },
      sort: 'PRICE',
      first: MAX_PAGE,
    });
    for (const { node } of offerSearch.edges) if (!cheapest.has(node.gpu)) cheapest.set(node.gpu, node);
    if (!offerSearch.pageInfo.hasNextPage) break;
  }
  return [...cheapest.values()];
}

/** Returns the first machines in an order. */
export function orderedFits(fits: readonly Fit[], order: FitOrder): Fit[] {
  const sized = fits.map((fit) => {
    const { numGpus, hasAgent, pricePerHour } = fit.offer;
    return { fit, numGpus, hasAgent, price: micro(pricePerHour.onDemand), bandwidth: bandwidthOf(fit.offer) };
  });
  return sized
    .sort((one, other) => compareFits(order, one, other))
    .slice(0, MAX_FITS)
    .map(({ fit }) => fit);
}

/** Opens the Deploy page filled in to serve a model with vLLM on a machine. */
export function deployModel(model: string, { contextLength, diskGb }: Memory, { offer, split }: Fit): void {
  const command = [
    ...['--model', '$(MODEL)'],
    ...['--tensor-parallel-size', String(split.gpus)],
    ...['--max-model-len', String(contextLength)],
  ];
  draft.value = { ...EMPTY, env: [{ name: 'MODEL', value: model }], command: joinWords(command) };
  const parameters = { template: TEMPLATE, [MACHINE]: offer.machineId, 'deploy-disk': String(diskGb) };
  go(withParameters('/deploy', new URLSearchParams(parameters)));
}
