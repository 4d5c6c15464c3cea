import { instanceFields } from '../domain/instances/fields.js';
import { deployBest } from '../domain/inventory/deploy-best.js';
import { offerFields } from '../domain/inventory/fields.js';
import {
  type OfferedModel,
  type OfferedRegion,
  type OfferSort as OfferSortName,
  offeredModels,
  offeredRegions,
  positionOf,
  searchOffers,
} from '../domain/inventory/offer-search.js';
import type { OfferPosition } from '../domain/inventory/rules/offer-order.js';
import { commonFields } from '../domain/kernel/fields.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { GpuTier } from './catalogue.js';
import { callerOf } from './context.js';
import { InstanceType, resultOf } from './instances.js';
import { accountForRental } from './launch.js';
import { OfferType } from './offers.js';
import { DEFAULT_PAGE, pageLimit } from './pages.js';
import { rentalTerms } from './terms.js';

const OfferSort = builder.enumType('OfferSort', {
  description: 'Sort order of offers, by on-demand price. Ties are sorted like PRICE.',
  values: {
    PRICE: { description: 'Cheapest machine first, then most reliable, then by machine id, like the query offers.' },
    PRICE_PER_GPU: { description: 'Cheapest GPU first.' },
    RELIABILITY: { description: 'Most reliable first.' },
  },
});

export const OfferFilterInput = builder.inputType('OfferFilterInput', {
  description:
    'Requirements for a machine, all of which must be met. Omitted fields, null and empty lists require nothing.',
  fields: (t) => ({
    gpus: t.stringList(fromField(commonFields.gpus)),
    regions: t.stringList(fromField(offerFields.regions)),
    tiers: t.field({ type: [GpuTier], ...fromField(offerFields.tiers) }),
    vramGbMin: t.int(fromField(offerFields.vramGbMin)),
    nvlink: t.boolean({ description: 'True: the GPUs must be linked by NVLink. False: they must not be.' }),
    cudaMin: t.string(fromField(offerFields.cudaMin)),
    reliabilityMin: t.float(fromField(offerFields.reliabilityMin)),
    vcpusMin: t.int(fromField(offerFields.vcpusMin)),
    ramGbMin: t.int(fromField(offerFields.ramGbMin)),
    diskGbMin: t.int(fromField(offerFields.diskGbMin)),
    numMin: t.int(fromField(offerFields.numMin)),
    numMax: t.int(fromField(offerFields.numMax)),
    pricePerGpuMax: t.float(fromField(offerFields.pricePerGpuMax)),
    includePreemptible: t.boolean({
      defaultValue: false,
      description:
        'Also include machines used only by interruptible instances. An interruptible deployBest never takes them.',
    }),
    hasAgent: t.boolean({
      description:
        'True: only machines whose host agent runs containers. False: only machines without an agent, on which a rental runs nothing.',
    }),
    fuse: t.boolean({
      description:
        'True: only machines whose operator lets containers mount FUSE file systems. False: only machines whose operator does not.',
    }),
  }),
});

const DeployBestInput = builder.inputType('DeployBestInput', {
  description:
    'The rental to create. Preferred models and regions are tried in order: the first model in each region, then the next model.',
  fields: (t) => ({
    filter: t.field({ type: OfferFilterInput, description: 'Requirements for the machine.' }),
    gpus: t.stringList(fromField(offerFields.preferredGpus)),
    regions: t.stringList(fromField(offerFields.preferredRegions)),
    maxPricePerHour: t.float(fromField(instanceFields.maxPricePerHour)),
    ...rentalTerms(t),
    idempotencyKey: t.string(fromField(commonFields.idempotencyKey)),
  }),
});

const OfferedModelType = builder.objectRef<OfferedModel>('OfferedModel').implement({
  description: 'A GPU model among the offers that match a filter.',
  fields: (t) => ({
    gpu: t.exposeID('gpu', { description: 'Slug of the model.' }),
    gpus: t.exposeInt('gpus', { description: 'Total GPUs of its matching offers.' }),
  }),
});

const OfferedRegionType = builder.objectRef<OfferedRegion>('OfferedRegion').implement({
  description: 'A region among the offers that match a filter.',
  fields: (t) => ({
    region: t.exposeID('region', { description: 'Region code.' }),
    gpus: t.exposeInt('gpus', { description: 'Total GPUs of its matching offers.' }),
  }),
});

builder.queryFields((t) => ({
  offerSearch: t.connection(
    {
      type: OfferType,
      description:
        'Offers that match a filter, in pages. A cursor marks a position in the order: machines rented in the meantime are missing from the next page, and no offer appears twice unless its price changes. Public.',
      args: {
        filter: t.arg({ type: OfferFilterInput, description: 'Requirements for the machines.' }),
        sort: t.arg({ type: OfferSort, defaultValue: 'PRICE', description: 'Sort order.' }),
      },
      resolve: async (_root, { filter, sort: sortInput, ...page }, context) => {
        const sort = sortInput ?? 'PRICE';
        pageLimit(() => cursorForm(sort))(page, context);
        const { offers, total, hasPrevious, hasNext } = await searchOffers(context.deps, {
          filter,
          sort,
          after: positionAt(sort, page.after),
          before: positionAt(sort, page.before),
          limit: page.first ?? page.last ?? DEFAULT_PAGE,
          fromEnd: page.first == null && (page.last != null || (page.before != null && page.after == null)),
        });
        const edges = offers.map((node) => ({ node, cursor: cursor(sort, positionOf(node)) }));
        return {
          filter,
          totalCount: total,
          edges,
          pageInfo: {
            hasPreviousPage: hasPrevious,
            hasNextPage: hasNext,
            startCursor: edges[0]?.cursor ?? null,
            endCursor: edges.at(-1)?.cursor ?? null,
          },
        };
      },
    },
    {
      name: 'OfferConnection',
      description: 'A page of offers.',
      fields: (f) => ({
        totalCount: f.int({
          description: 'Total matching offers on all pages.',
          resolve: ({ totalCount }) => totalCount,
        }),
        models: f.field({
          type: [OfferedModelType],
          description: 'GPU models of the matching offers on all pages, by slug.',
          resolve: ({ filter }, _args, { deps }) => offeredModels(deps, filter),
        }),
        regions: f.field({
          type: [OfferedRegionType],
          description: 'Regions of the matching offers on all pages, by code.',
          resolve: ({ filter }, _args, { deps }) => offeredRegions(deps, filter),
        }),
      }),
    },
    { name: 'OfferEdge', description: 'An offer on a page.' },
  ),
}));

builder.mutationFields((t) => ({
  deployBest: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Rents the cheapest matching machine, which is chosen and rented atomically: refused with deploy_failed only if no matching machine is free. The price is locked for the life of the instance.',
    args: { input: t.arg({ type: DeployBestInput, required: true, description: 'The rental to create.' }) },
    resolve: async (_root, { input }, context) =>
      resultOf(
        context,
        await deployBest(context.deps, accountForRental(context, input), input, callerOf(context).keyId),
      ),
  }),
}));

/**
 * Encodes an offer's position as its sort order, price per GPU, price, reliability and machine id, which are enough to
 * continue after the offer in any order.
 */
function cursor(sort: OfferSortName, { pricePerGpu, pricePerHour, reliability, machineId }: OfferPosition): string {
  return Buffer.from(`${sort} ${pricePerGpu} ${pricePerHour.onDemand} ${reliability} ${machineId}`).toString('base64');
}

function cursorForm(sort: OfferSortName): RegExp {
  return new RegExp(`^${sort} (\\d{1,18}) (\\d{1,18}) (\\d(?:\\.\\d{1,20})?(?:e-\\d{1,2})?) (\\P{Cc}{1,64})$`, 'u');
}

/** Parses the position in a cursor that is known to be well-formed. Returns null if there is no cursor. */
function positionAt(sort: OfferSortName, text: string | null | undefined): OfferPosition | null {
  const parts = text == null ? null : cursorForm(sort).exec(Buffer.from(text, 'base64').toString());
  if (parts === null) return null;
  const [, pricePerGpu = '', price = '', reliability = '', machineId = ''] = parts;
  return {
    pricePerGpu: BigInt(pricePerGpu),
    pricePerHour: { onDemand: BigInt(price) },
    reliability: Number(reliability),
    machineId,
  };
}
