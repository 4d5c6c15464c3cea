import { fields } from '../domain/fields.js';
import { deployBest } from '../domain/inventory/deploy-best.js';
import {
  type OfferedModel,
  type OfferedRegion,
  type OfferSort as OfferSortName,
  offeredModels,
  offeredRegions,
  positionOf,
  searchOffers,
} from '../domain/inventory/offer-search.js';
import type { OfferPosition } from '../domain/rules/offer-order.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { GpuTier } from './catalogue.js';
import { callerOf } from './context.js';
import { answer, InstanceType } from './instances.js';
import { LaunchInput, renterOf, VolumeAtPathInput } from './launch.js';
import { OfferType } from './offers.js';
import { DEFAULT_PAGE, pageLimit } from './pages.js';
import { PricingMode } from './pricing.js';

const OfferSort = builder.enumType('OfferSort', {
  description:
    'The order of offers. All prices are on-demand prices. Offers that are equal follow in the order of PRICE.',
  values: {
    PRICE: { description: 'Cheapest machine first, then more reliable, then by machine id: the order of offers.' },
    PRICE_PER_GPU: { description: 'Cheapest GPU first.' },
    RELIABILITY: { description: 'Most reliable first.' },
  },
});

export const OfferFilterInput = builder.inputType('OfferFilterInput', {
  description:
    'The requirements of a machine, all of which must be met. A field that is left out, null or an empty list requires nothing.',
  fields: (t) => ({
    gpus: t.stringList(fromField(fields.gpus)),
    regions: t.stringList(fromField(fields.regions)),
    tiers: t.field({ type: [GpuTier], ...fromField(fields.tiers) }),
    vramGbMin: t.int(fromField(fields.vramGbMin)),
    nvlink: t.boolean({ description: 'True: the GPUs must be linked by NVLink. False: they must not be.' }),
    cudaMin: t.string(fromField(fields.cudaMin)),
    reliabilityMin: t.float(fromField(fields.reliabilityMin)),
    vcpusMin: t.int(fromField(fields.vcpusMin)),
    ramGbMin: t.int(fromField(fields.ramGbMin)),
    diskGbMin: t.int(fromField(fields.diskGbMin)),
    numMin: t.int(fromField(fields.numMin)),
    numMax: t.int(fromField(fields.numMax)),
    pricePerGpuMax: t.float(fromField(fields.pricePerGpuMax)),
    includePreemptible: t.boolean({
      defaultValue: false,
      description:
        'Also machines that are held only by an interruptible instance. An interruptible deployBest never takes them.',
    }),
    hasAgent: t.boolean({
      description:
        'True: only machines whose host agent runs containers. False: only those without one, where a rental runs nothing.',
    }),
  }),
});

const DeployBestInput = builder.inputType('DeployBestInput', {
  description:
    'What to rent. Preferred models and regions are tried in order: the first model in the first region, then in the next regions, then the next model.',
  fields: (t) => ({
    filter: t.field({ type: OfferFilterInput, description: 'The requirements of the machine.' }),
    gpus: t.stringList(fromField(fields.preferredGpus)),
    regions: t.stringList(fromField(fields.preferredRegions)),
    maxPricePerHour: t.float(fromField(fields.maxPricePerHour)),
    template: t.string(fromField(fields.template)),
    diskGb: t.int(fromField(fields.diskGb)),
    mode: t.field({ type: PricingMode, ...fromField(fields.mode) }),
    launch: t.field({ type: LaunchInput, description: 'What runs, beside template and disk.' }),
    stopAt: t.string(fromField(fields.stopAt)),
    destroyAt: t.string(fromField(fields.destroyAt)),
    spendLimit: t.float(fromField(fields.spendLimit)),
    stopWhenIdle: t.int(fromField(fields.stopWhenIdle)),
    volumes: t.field({ type: [VolumeAtPathInput], ...fromField(fields.volumes) }),
    idempotencyKey: t.string(fromField(fields.idempotencyKey)),
  }),
});

const OfferedModelType = builder.objectRef<OfferedModel>('OfferedModel').implement({
  description: 'A GPU model among the offers that match a filter.',
  fields: (t) => ({
    gpu: t.exposeID('gpu', { description: 'Slug of the model.' }),
    gpus: t.exposeInt('gpus', { description: 'GPUs of all its offers that match.' }),
  }),
});

const OfferedRegionType = builder.objectRef<OfferedRegion>('OfferedRegion').implement({
  description: 'A region among the offers that match a filter.',
  fields: (t) => ({
    region: t.exposeID('region', { description: 'Region code.' }),
    gpus: t.exposeInt('gpus', { description: 'GPUs of all its offers that match.' }),
  }),
});

builder.queryFields((t) => ({
  offerSearch: t.connection(
    {
      type: OfferType,
      description:
        'Offers that match a filter, page by page. A cursor marks a position in the order, so machines rented meanwhile are missing from the next page, and no offer is shown twice unless its price changed. Public.',
      args: {
        filter: t.arg({ type: OfferFilterInput, description: 'The requirements of the machines.' }),
        sort: t.arg({ type: OfferSort, defaultValue: 'PRICE', description: 'The order.' }),
      },
      resolve: async (_root, { filter, sort: given, ...page }, context) => {
        const sort = given ?? 'PRICE';
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
          description: 'Offers that match, on all pages.',
          resolve: ({ totalCount }) => totalCount,
        }),
        models: f.field({
          type: [OfferedModelType],
          description: 'The GPU models of the offers that match, on all pages, by slug.',
          resolve: ({ filter }, _args, { deps }) => offeredModels(deps, filter),
        }),
        regions: f.field({
          type: [OfferedRegionType],
          description: 'The regions of the offers that match, on all pages, by code.',
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
      'Rents the cheapest machine that matches, chosen and taken in one step: refused with deploy_failed only if no matching machine is free. The price is locked for the life of the instance.',
    args: { input: t.arg({ type: DeployBestInput, required: true, description: 'What to rent.' }) },
    resolve: async (_root, { input }, context) =>
      answer(context, await deployBest(context.deps, renterOf(context, input), input, callerOf(context).keyId)),
  }),
}));

/** Sort, price per GPU, price, reliability, machine id: what any sort needs to continue from an offer. */
function cursor(sort: OfferSortName, { pricePerGpu, pricePerHour, reliability, machineId }: OfferPosition): string {
  return Buffer.from(`${sort} ${pricePerGpu} ${pricePerHour.onDemand} ${reliability} ${machineId}`).toString('base64');
}

function cursorForm(sort: OfferSortName): RegExp {
  return new RegExp(`^${sort} (\\d{1,18}) (\\d{1,18}) (\\d(?:\\.\\d{1,20})?(?:e-\\d{1,2})?) (\\P{Cc}{1,64})$`, 'u');
}

/** The position in a cursor whose form was checked; null without a cursor. */
function positionAt(sort: OfferSortName, text: string | null | undefined): OfferPosition | null {
  const parts = text == null ? null : cursorForm(sort).exec(Buffer.from(text, 'base64').toString());
  if (parts === null) return null;
  const [, pricePerGpu, price, reliability, machineId] = parts;
  return {
    pricePerGpu: BigInt(pricePerGpu!),
    pricePerHour: { onDemand: BigInt(price!) },
    reliability: Number(reliability),
    machineId: machineId!,
  };
}
