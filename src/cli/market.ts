import { type Command, InvalidArgumentError } from 'commander';
import type { GpuPricing, Offer, OfferFilter, OfferList, PriceSheet } from '../client/index.js';
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
    `${count} models. USD per GPU-hour, billed per second; market of ${market_snapshot}.`,
};

const OFFERS: View<OfferList> = {
  lines: ({ data }) => (data.length === 0 ? [] : table(data, OFFER_COLUMNS)),
  ids: ({ data }) => data.map(({ machine_id }) => machine_id),
  remark: ({ count }) =>
    count === 0
      ? 'No machine is free that fits.'
      : `${count} machine${count === 1 ? '' : 's'}, cheapest first. Prices are for the whole machine; \`gpu deploy MACHINE\` rents one.`,
};

interface OfferOptions extends Output {
  gpu?: string;
  region?: string;
  numMin?: number;
  priceMax?: number;
  limit?: number;
}

export function addMarketCommands(program: Command): void {
  program
    .command('pricing')
    .description('the price sheet: what each GPU model costs')
    .option('--json', "print the service's answer as it is")
    .option('-q, --quiet', 'print slugs only')
    .action((options: Output, command: Command) =>
      show(openSession(command, { needsKey: false }), options, (client) => client.gpus.pricing(), PRICING),
    );
  program
    .command('offers')
    .description('machines that can be deployed now, cheapest first')
    .option('--gpu <slug>', 'of this GPU model')
    .option('--region <code>', 'in this region')
    .option('--num-min <n>', 'with this many GPUs or more', amount)
    .option('--price-max <usd>', 'up to this price per hour for the whole machine', amount)
    .option('--limit <n>', 'how many at most (default: 25)', amount)
    .option('--json', "print the service's answer as it is")
    .option('-q, --quiet', 'print machine ids only')
    .option('-w, --watch [seconds]', 'show it again every few seconds (default: 2)', watchSeconds)
    .action((options: OfferOptions, command: Command) =>
      show(
        openSession(command, { needsKey: false }),
        options,
        (client) => client.offers.list(filterOf(options)),
        OFFERS,
      ),
    );
}

function filterOf({ gpu, region, numMin, priceMax, limit }: OfferOptions): OfferFilter {
  return {
    ...(gpu !== undefined && { gpu }),
    ...(region !== undefined && { region }),
    ...(numMin !== undefined && { num_min: numMin }),
    ...(priceMax !== undefined && { price_max: priceMax }),
    ...(limit !== undefined && { limit }),
  };
}

/** Checks the form only: the service checks the bounds. */
export function amount(text: string): number {
  if (!/^[+-]?\d{1,15}(\.\d{1,15})?$/.test(text)) throw new InvalidArgumentError('must be a number.');
  return Number(text);
}
