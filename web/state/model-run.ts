import type { ResultOf } from 'gql.tada';
import { useEffect, useState } from 'preact/hooks';
import { compareFits } from '../figures/fit-order.js';
import { micro } from '../figures/money.js';
import { joinWords } from '../figures/words.js';
import { type ModelMemory, OfferSearch } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { MACHINE } from './deploy-link.js';
import { draft } from './launch-draft.js';
import { EMPTY } from './launch-form.js';
import { go, withParameters } from './location.js';
import { MAX_PAGE, type Offer } from './offers.js';

export type Memory = NonNullable<ResultOf<typeof ModelMemory>['modelMemory']>;
type Split = Memory['splits'][number];

/** A machine that is large enough for a model, and how the model is split across its GPUs. */
export interface Fit {
  offer: Offer;
  split: Split;
}

/** Returns the figures by which fits are compared. */
export const pricedFit = (fit: Fit) => {
  const { numGpus, hasAgent, pricePerHour } = fit.offer;
  return { fit, numGpus, hasAgent, price: micro(pricePerHour.onDemand) };
};

const TEMPLATE = 'vllm';
/** The vLLM image needs CUDA 12. */
const CUDA_MIN = '12.0';
const MAX_FITS = 12;
/** The API's maximum list length. */
const MAX_MODELS = 100;

interface Fits {
  /** Null until they are known. */
  fits: readonly Fit[] | null;
  error: unknown;
}

/** Finds the cheapest free machine of each kind that is large enough for a model, the recommended one first. */
export function useFits(memory: Memory): Fits {
  const [state, setState] = useState<Fits>({ fits: null, error: null });
  useEffect(() => {
    let isCurrent = true;
    const set = (next: Fits) => isCurrent && setState(next);
    findFits(memory).then(
      (fits) => set({ fits, error: null }),
      (error) => set({ fits: null, error }),
    );
    return () => {
      isCurrent = false;
    };
  }, [memory]);
  return state;
}

async function findFits({ splits, diskGb, gpus: supported }: Memory): Promise<Fit[]> {
  const found = await Promise.all(
    splits.map(async (split) => {
      const { gpus, vramGbMin } = split;
      const filter = {
        gpus: supported.slice(0, MAX_MODELS),
        numMin: gpus,
        numMax: gpus,
        vramGbMin,
        diskGbMin: diskGb,
        cudaMin: CUDA_MIN,
      };
      const { offerSearch } = await send(OfferSearch, { filter, sort: 'PRICE', first: MAX_PAGE });
      return offerSearch.edges.map(({ node: offer }) => ({ offer, split }));
    }),
  );
  const ordered = found.flat().map(pricedFit).sort(compareFits);
  const cheapest = new Map<string, Fit>();
  for (const { fit } of ordered) {
    const kind = `${fit.offer.numGpus} ${fit.offer.gpu}`;
    if (!cheapest.has(kind)) cheapest.set(kind, fit);
  }
  return [...cheapest.values()].slice(0, MAX_FITS);
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
