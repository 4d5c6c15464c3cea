import { type Command, InvalidArgumentError } from 'commander';
import {
  type ListingRow,
  type MarketPlan,
  type ModelPlan,
  percentOf,
  planSnapshot,
  publishPlan,
} from '../domain/market.js';
import { usdNumber } from '../domain/rules/money.js';
import { recordsOf } from './files.js';
import { type Column, print, printJson, usd } from './output.js';
import type { Run } from './run.js';

interface Options {
  date: string;
  dryRun?: boolean;
  acceptJumps?: boolean;
  json?: boolean;
}

const COLUMNS_OF_FILE = ['listing_id', 'gpu_slug', 'num_gpus', 'price_usd_hour', 'region'];
/** A price that moves by more than this needs --accept-jumps. */
const MAX_JUMP_PERCENT = 50;

const COLUMNS: readonly Column<ModelPlan>[] = [
  ['MODEL', ({ gpu }) => gpu],
  ['LISTINGS', ({ listings }) => String(listings)],
  ['OLD MEDIAN', ({ oldMedianMicro }) => amount(oldMedianMicro)],
  ['NEW MEDIAN', ({ medianMicro }) => amount(medianMicro)],
  ['OLD USD/H', ({ oldRate }) => amount(oldRate)],
  ['NEW USD/H', ({ newRate }) => usd(newRate)],
  ['CHANGE', (model) => (model.oldRate === null ? 'new' : `${percentOf(model)} %`)],
];

export function addMarketCommands(program: Command, run: Run): void {
  const market = program.command('market').description('market snapshots and the price sheet');
  market
    .command('import <file>')
    .description('reckon prices from a CSV of listings and publish them as a new sheet')
    .requiredOption('--date <day>', 'the day the listings are of, such as 2026-11-20', day)
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--accept-jumps', `publish prices that move by more than ${MAX_JUMP_PERCENT} %`)
    .option('--json', 'print JSON')
    .action((file: string, options: Options) =>
      run(async (deps) => {
        const plan = await planSnapshot(deps, options.date, listingsOf(file));
        show(plan, options);
        if (options.dryRun) return;
        await publishPlan(deps, plan, options.acceptJumps ? null : MAX_JUMP_PERCENT);
        if (!options.json) process.stdout.write(`published the sheet of ${plan.date}\n`);
      }),
    );
}

async function* listingsOf(file: string): AsyncGenerator<ListingRow> {
  for await (const { line, fields } of recordsOf(file, COLUMNS_OF_FILE)) {
    const { gpu_slug, num_gpus, price_usd_hour } = fields as Record<string, string>;
    yield { line, gpuSlug: gpu_slug ?? '', numGpus: num_gpus ?? '', priceUsdHour: price_usd_hour ?? '' };
  }
}

function show(plan: MarketPlan, { json }: Options): void {
  const changed = plan.models.filter((model) => model.oldRate !== model.newRate || isGainOrLoss(model));
  if (json) {
    printJson(asJson(plan, changed));
    return;
  }
  print(changed, COLUMNS);
  const unknown = [...plan.unknownSlugs].map(([slug, rows]) => `${slug} (${rows})`).join(', ');
  const lines = [
    `${plan.listings} listings of ${plan.models.length} models; ${changed.length} models change`,
    ...(unknown === '' ? [] : [`unknown models, left out: ${unknown}`]),
    ...(plan.rejectedCount === 0 ? [] : [`${plan.rejectedCount} rows rejected:`]),
    ...plan.rejected.map(({ line, reason }) => `  line ${line}: ${reason}`),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function isGainOrLoss({ oldMedianMicro, medianMicro }: ModelPlan): boolean {
  return (oldMedianMicro === null) !== (medianMicro === null);
}

function asJson(plan: MarketPlan, changed: readonly ModelPlan[]): object {
  return {
    date: plan.date,
    listings: plan.listings,
    changes: changed.map((model) => ({
      gpu: model.gpu,
      listings: model.listings,
      old_median: model.oldMedianMicro && usdNumber(model.oldMedianMicro),
      new_median: model.medianMicro && usdNumber(model.medianMicro),
      old_on_demand: model.oldRate && usdNumber(model.oldRate),
      new_on_demand: usdNumber(model.newRate),
      change_percent: Number(percentOf(model)),
    })),
    unknown_slugs: Object.fromEntries(plan.unknownSlugs),
    rejected_count: plan.rejectedCount,
    rejected: plan.rejected,
  };
}

function amount(micro: bigint | null): string {
  return micro === null ? '-' : usd(micro);
}

function day(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return text;
  throw new InvalidArgumentError('must be a day such as 2026-11-20.');
}
