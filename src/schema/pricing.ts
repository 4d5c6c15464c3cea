import { findGpuModel } from '../domain/inventory/catalogue.js';
import type { ModeRates } from '../domain/kernel/price-rule.js';
import { PRICE_RULE } from '../domain/kernel/price-rule.js';
import type { GpuPrice, PriceSheet } from '../domain/market/price-sheet.js';
import { type PastPrice, type PriceTrend, priceHistory, priceSheet, priceTrends } from '../domain/market/pricing.js';
import { type RecheckTimes, recheckTimes } from '../domain/market/recheck.js';
import { priceSheetChanges } from '../domain/updates/change-streams.js';
import { builder } from './builder.js';
import { GpuModelType, GpuTier } from './catalogue.js';

export const PricingMode = builder.enumType('PricingMode', {
  description: 'Pricing mode of an instance.',
  values: {
    ON_DEMAND: { description: 'Market median × 0.70, rounded down to the cent.' },
    INTERRUPTIBLE: {
      description: '50% of on-demand. Stopped if an on-demand or reserved deploy or start takes its machine.',
    },
    RESERVED: {
      description:
        '65% of on-demand for a term of 3 months of running time. Destroying it earlier repays the discount received.',
    },
  },
});

const ModePrices = builder.objectRef<ModeRates>('ModePrices').implement({
  description: 'USD per GPU-hour in each mode, billed per second.',
  fields: (t) => ({
    onDemand: t.expose('onDemand', { type: 'USD', description: 'On demand.' }),
    interruptible: t.expose('interruptible', { type: 'USD', description: 'Interruptible.' }),
    reserved: t.expose('reserved', { type: 'USD', description: 'Reserved for 3 months.' }),
  }),
});

const GpuPriceType = builder.objectRef<GpuPrice>('GpuPrice').implement({
  description: 'Price of one GPU model.',
  fields: (t) => ({
    slug: t.exposeID('slug', { description: 'Slug of the model.' }),
    name: t.exposeString('name', { description: 'Display name of the model.' }),
    vramGb: t.exposeInt('vramGb', { description: 'Video memory of one GPU in GB.' }),
    tier: t.expose('tier', { type: GpuTier, description: 'Class of the model.' }),
    pricePerGpuHour: t.expose('pricePerGpuHour', { type: ModePrices, description: 'USD per GPU-hour.' }),
    marketMedian: t.expose('marketMedian', {
      type: 'USD',
      nullable: true,
      description: 'Market median in USD per GPU-hour at the snapshot date; null with fewer than 5 listings.',
    }),
    listings: t.exposeInt('listings', { description: 'Number of listings from which the median was computed.' }),
    snapshot: t.expose('snapshot', { type: 'Date', description: 'Date of the market data.' }),
    priceRule: t.string({
      description: 'Formula of the price: anyone can recompute it from the median.',
      resolve: () => PRICE_RULE,
    }),
    availableGpus: t.exposeInt('availableGpus', { description: "GPUs in the model's offers now." }),
    url: t.exposeString('url', { description: "URL of the model's offers." }),
    gpuModel: t.field({
      type: GpuModelType,
      nullable: true,
      description: 'The model.',
      resolve: ({ slug }, _args, { deps }) => findGpuModel(deps, slug),
    }),
  }),
});

const MarketRecheck = builder.objectRef<RecheckTimes>('MarketRecheck').implement({
  description: 'Schedule of market data updates.',
  fields: (t) => ({
    schedule: t.exposeString('schedule', { description: 'Cron pattern in UTC.' }),
    lastSucceededAt: t.expose('lastSucceededAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which a sheet was last published; null for never.',
    }),
    lastFailedAt: t.expose('lastFailedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last failed attempt, which leaves the sheet unchanged; null for never.',
    }),
    nextAt: t.expose('nextAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the next attempt, on schedule or as a retry.',
    }),
  }),
});

const PriceTrendType = builder.objectRef<PriceTrend>('PriceTrend').implement({
  description: 'Recent prices of a model.',
  fields: (t) => ({
    gpu: t.exposeID('gpu', { description: 'Slug of the model.' }),
    onDemand: t.expose('onDemand', {
      type: ['USD'],
      description: 'On-demand price in USD per GPU-hour, oldest first. The last is the price in the sheet.',
    }),
  }),
});

const PriceSheetType = builder.objectRef<PriceSheet>('PriceSheet').implement({
  description: 'The public price sheet.',
  fields: (t) => ({
    currency: t.string({ description: 'Always USD.', resolve: () => 'USD' }),
    billing: t.string({ description: 'Always per_second.', resolve: () => 'per_second' }),
    priceRule: t.string({ description: 'The pricing formula as text.', resolve: () => PRICE_RULE }),
    marketSnapshot: t.expose('marketSnapshot', { type: 'Date', description: 'Date to which the prices refer.' }),
    count: t.int({ description: 'Number of entries in data.', resolve: ({ data }) => data.length }),
    diskPricePerGbHour: t.field({
      type: 'USD',
      description: 'Disk price in USD per GB-hour in every mode, from deploy to destruction. Locked at deploy.',
      resolve: (_sheet, _args, { deps }) => deps.settings.diskRatePerGb,
    }),
    volumePricePerGbHour: t.field({
      type: 'USD',
      description: 'Volume price in USD per GB-hour, from creation to deletion. Locked at creation.',
      resolve: (_sheet, _args, { deps }) => deps.settings.volumeRatePerGb,
    }),
    recheck: t.field({
      type: MarketRecheck,
      nullable: true,
      description: 'Schedule of market data updates; null if sheets are published manually.',
      resolve: (_sheet, _args, { deps }) => recheckTimes(deps),
    }),
    trends: t.field({
      type: [PriceTrendType],
      description: 'Prices of the models in the newest 26 snapshots.',
      resolve: (_sheet, _args, { deps }) => priceTrends(deps),
    }),
    data: t.field({ type: [GpuPriceType], description: 'One entry per GPU model.', resolve: ({ data }) => data }),
  }),
});

const PastPriceType = builder.objectRef<PastPrice>('PastPrice').implement({
  description: 'Price of a model as of one snapshot.',
  fields: (t) => ({
    snapshot: t.expose('snapshot', { type: 'Date', description: 'Date of the market data.' }),
    onDemand: t.expose('onDemand', { type: 'USD', description: 'USD per GPU-hour on demand.' }),
    marketMedian: t.expose('marketMedian', {
      type: 'USD',
      nullable: true,
      description: 'Market median in USD per GPU-hour; null with fewer than 5 listings.',
    }),
    listings: t.exposeInt('listings', { description: 'Number of listings from which the median was computed.' }),
  }),
});

builder.prismaObjectField('GpuModel', 'priceHistory', (t) =>
  t.field({
    type: [PastPriceType],
    description: 'Prices in past snapshots, oldest first; the newest 1,000 of the period.',
    args: {
      from: t.arg({ type: 'Date', description: 'First day; by default the oldest.' }),
      to: t.arg({ type: 'Date', description: 'Last day; by default the newest.' }),
    },
    resolve: ({ slug }, period, { deps }) => priceHistory(deps, slug, period),
  }),
);

builder.queryFields((t) => ({
  pricing: t.field({
    type: PriceSheetType,
    description: 'The price sheet: every GPU model with its price and availability. Public.',
    resolve: (_root, _args, { deps }) => priceSheet(deps),
  }),
}));

builder.subscriptionFields((t) => ({
  pricingChanged: t.field({
    type: PriceSheetType,
    description:
      'The price sheet now, and again after each change of a price or of the offers, at most once per second. Public.',
    subscribe: (_root, _args, { deps, caller, visitor, untilGone }) =>
      priceSheetChanges(deps, caller ?? visitor(), untilGone()),
    resolve: (sheet) => sheet,
  }),
}));
