import { type Command, InvalidArgumentError } from 'commander';
import type { GpuClient, GpuPricing, Offer, OfferFilter, OfferList, PriceSheet } from '../client/index.js';
import { nearestName } from '../std/nearest-name.js';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { openSession } from './session.js';
import { type Output, show, type View, watchSeconds } from './show.js';
import { type Column, number, table, text, usd } from './table.js';

const PRICING_COLUMNS: readonly Column<GpuPricing>[] = [
  text('GPU', ({ slug }) => slug, { style: () => 'cyan' }),
  text('NAME', ({ name }) => name, { spare: 3 }),
  text('TIER', ({ tier }) => tier, { spare: 2 }),
  number('VRAM', ({ vram_gb }) => vram_gb, { unit: 'GB' }),
  usd('ON-DEMAND', ({ price_per_gpu_hour }) => price_per_gpu_hour.on_demand),
  usd('INTERRUPTIBLE', ({ price_per_gpu_hour }) => price_per_gpu_hour.interruptible),
  usd('RESERVED', ({ price_per_gpu_hour }) => price_per_gpu_hour.reserved),
  usd('MEDIAN', ({ market_median }) => market_median, { spare: 1 }),
  number('FREE', ({ available_gpus }) => available_gpus, {
    unit: 'GPUS',
    style: ({ available_gpus }) => (available_gpus === 0 ? 'dim' : 'green'),
  }),
];

const OFFER_COLUMNS: readonly Column<Offer>[] = [
  text('MACHINE', ({ machine_id }) => machine_id, { style: () => 'cyan' }),
  text('GPU', ({ gpu }) => gpu),
  number('GPUS', ({ num_gpus }) => num_gpus),
  text('REGION', ({ region }) => region),
  usd('ON-DEMAND', ({ price_per_hour }) => price_per_hour.on_demand),
  usd('INTERRUPTIBLE', ({ price_per_hour }) => price_per_hour.interruptible),
  number('VCPUS', ({ vcpus }) => vcpus, { spare: 1 }),
  number('RAM', ({ ram_gb }) => ram_gb, { unit: 'GB' }),
  number('DISK', ({ disk_gb }) => disk_gb, { unit: 'GB' }),
  number('DOWN', ({ net_mbps }) => net_mbps.down, { unit: 'MBIT/S', spare: 3 }),
  number('UP', ({ net_mbps }) => net_mbps.up, { unit: 'MBIT/S', spare: 4 }),
  text('RELIABLE', ({ reliability }) => (reliability * 100).toFixed(2), { unit: '%', right: true, spare: 2 }),
  text('NVLINK', ({ nvlink }) => (nvlink ? 'yes' : 'no'), { spare: 5 }),
  text('CUDA', ({ cuda_max }) => cuda_max, { spare: 7 }),
  number('PCIE', ({ pcie }) => pcie, { unit: 'GEN', spare: 8 }),
  number('PORTS', ({ ports }) => ports, { spare: 9 }),
  text('CPU', ({ cpu }) => cpu, { spare: 6 }),
];

const PRICING: View<PriceSheet> = {
  lines: ({ data }) => table(data, PRICING_COLUMNS),
  ids: ({ data }) => data.map(({ slug }) => slug),
  remark: ({ count, market_snapshot }) =>
    `${count} models. USD per GPU-hour, billed per second; market prices as of ${market_snapshot}.`,
};

const OFFERS: View<OfferList> = {
  lines: ({ data }) => (data.length === 0 ? [] : table(data, OFFER_COLUMNS)),
  ids: ({ data }) => data.map(({ machine_id }) => machine_id),
  remark: ({ count }) =>
    count === 0
      ? 'No free machine matches.'
      : `${count} machine${count === 1 ? '' : 's'}, cheapest first. Prices are for the whole machine; \`gpu deploy MACHINE\` rents one.`,
};

const MODELS = 'query ($gpu: String) { all: gpuModels { slug } named: gpuModels(named: $gpu) { slug } }';

interface OfferOptions extends Output {
  gpu?: string;
  region?: string;
  numMin?: number;
  priceMax?: number;
  cudaMin?: string;
  limit?: number;
}

export function addMarketCommands(program: Command): void {
  program
    .command('pricing')
    .description('Show the price of each GPU model')
    .option('--json', "Print the service's JSON response unchanged")
    .option('-q, --quiet', 'Print only the slugs')
    .action((options: Output, command: Command) =>
      show(openSession(command, { needsKey: false }), options, (client) => client.gpus.pricing(), PRICING),
    );
  program
    .command('offers')
    .description('List free machines, cheapest first')
    .option('--gpu <model>', 'Only this GPU model: a slug, or a name such as "RTX 4090" or H100')
    .option('--region <code>', 'Only this region')
    .option('--num-min <n>', 'Minimum number of GPUs', amount)
    .option('--price-max <usd>', 'Maximum price for the whole machine, in USD per hour', amount)
    .option('--cuda-min <version>', 'Minimum CUDA version supported by the driver, such as 12.4', cudaVersion)
    .option('--limit <n>', 'Maximum number of machines, 1 to 100 (default: 25)', amount)
    .option('--json', "Print the service's JSON response unchanged")
    .option('-q, --quiet', 'Print only the machine ids')
    .option('-w, --watch [seconds]', 'Refresh at this interval in seconds, 1 to 3600 (default: 2)', watchSeconds)
    .action((options: OfferOptions, command: Command) =>
      show(openSession(command, { needsKey: false }), options, (client) => offersOf(client, options), OFFERS),
    );
}

function filterOf({ gpu, region, numMin, priceMax, cudaMin, limit }: OfferOptions): OfferFilter {
  return {
    ...(gpu !== undefined && { gpu }),
    ...(region !== undefined && { region }),
    ...(numMin !== undefined && { num_min: numMin }),
    ...(priceMax !== undefined && { price_max: priceMax }),
    ...(cudaMin !== undefined && { cuda_min: cudaMin }),
    ...(limit !== undefined && { limit }),
  };
}

function cudaVersion(text: string): string {
  if (!/^\d{1,2}(\.\d{1,2})?$/.test(text)) throw new InvalidArgumentError('must be a CUDA version such as 12.4.');
  return text;
}

/** Returns the offers. If there are no matches because the model doesn't exist, fails with suggestions. */
async function offersOf(client: GpuClient, options: OfferOptions): Promise<OfferList> {
  const list = await client.offers.list(filterOf(options));
  const { gpu } = options;
  if (list.count > 0 || gpu === undefined) return list;
  const { all, named } = await client.graphql<Record<'all' | 'named', { slug: string }[]>>(MODELS, { gpu });
  if (named.length > 0) return list;
  const near = nearestName(
    gpu,
    all.map(({ slug }) => slug),
  );
  const hint = near === null ? ';' : `; did you mean ${near}?`;
  throw new Failure(EXIT.refused, `there is no GPU model ${visible(gpu)}${hint} \`gpu pricing\` lists all models`);
}

/** Parses an amount and checks only its form, because the service checks the bounds. */
export function amount(text: string): number {
  if (!/^[+-]?\d{1,15}(\.\d{1,15})?$/.test(text)) throw new InvalidArgumentError('must be a number.');
  return Number(text);
}
