import { type Command, InvalidArgumentError } from 'commander';
import { usdNumber } from '../domain/kernel/money.js';
import { isDay } from '../domain/kernel/time.js';
import { LISTING_COLUMNS, listingRows, readListings } from '../domain/market/listings.js';
import { type MarketPlan, type ModelPlan, planSnapshot, publishPlan } from '../domain/market/market.js';
import { type RecheckStatus, recheckStatus } from '../domain/market/recheck.js';
import { percentOf } from '../domain/market/rules/market-snapshot.js';
import { alignColumns } from '../std/columns.js';
import { visible } from '../std/visible.js';
import { recordsOf } from './files.js';
import { type Column, type Output, print, printJson, time, timeOrNull, usd, withProgress } from './output.js';
import type { Run } from './run.js';

interface Options {
  date: string;
  dryRun?: boolean;
  acceptJumps?: boolean;
  json?: boolean;
}

const COLUMNS: readonly Column<ModelPlan>[] = [
  ['MODEL', ({ gpu }) => gpu],
  ['LISTINGS', ({ listings }) => String(listings)],
  ['OLD MEDIAN', ({ oldMedianMicro }) => amount(oldMedianMicro)],
  ['NEW MEDIAN', ({ medianMicro }) => amount(medianMicro)],
  ['OLD USD/H', ({ oldRate }) => amount(oldRate)],
  ['NEW USD/H', ({ newRate }) => usd(newRate)],
  ['CHANGE', (model) => (model.oldRate === null ? 'new' : `${percentOf(model)}%`)],
];

export function addMarketCommands(program: Command, run: Run): void {
  const market = program.command('market').description('Manage market snapshots and the price sheet');
  market
    .command('import <file>')
    .description('Compute prices from a CSV file of listings, and publish them as a new price sheet')
    .requiredOption('--date <day>', 'Date of the listings, such as 2026-11-20', day)
    .option('--dry-run', 'Show the changes without publishing them')
    .option(
      '--accept-jumps',
      'Publish even if prices or the share of lost medians change by more than MARKET_MAX_JUMP_PERCENT',
    )
    .option('--json', 'Print JSON')
    .action((file: string, options: Options) =>
      run(async (deps) => {
        const rows = listingRows(recordsOf(file, LISTING_COLUMNS));
        const plan = await withProgress('listings', (onProgress) =>
          planSnapshot(deps, options.date, (models) => readListings(models, rows, onProgress)),
        );
        show(plan, options);
        if (options.dryRun) return;
        await publishPlan(deps, plan, options.acceptJumps ? null : deps.settings.marketMaxJumpPercent);
        if (!options.json) process.stdout.write(`published the price sheet for ${plan.date}\n`);
      }),
    );
  market
    .command('status')
    .description('Show the current price sheet and the state of the scheduled MARKET_SOURCE re-check')
    .option('--json', 'Print JSON')
    .action((options: Output) => run(async (deps) => showStatus(await recheckStatus(deps), options)));
}

function showStatus(status: RecheckStatus, { json }: Output): void {
  const { source, schedule, sheet, lastError } = status;
  if (json) {
    printJson({
      sheet,
      source,
      schedule,
      last_succeeded_at: timeOrNull(status.lastSucceededAt),
      last_failed_at: timeOrNull(status.lastFailedAt),
      last_error: lastError,
      next_at: source === null ? null : timeOrNull(status.nextAt),
    });
    return;
  }
  const lines: [string, string][] = [
    ['Sheet', sheet ?? '-'],
    ['Source', source ?? '- (MARKET_SOURCE is not set)'],
    ['Schedule', `${schedule} (UTC)`],
    ['Last succeeded', time(status.lastSucceededAt)],
    ['Last failed', time(status.lastFailedAt)],
    ...(lastError === null ? [] : [['Last error', lastError] as [string, string]]),
    ['Next', source === null ? '-' : time(status.nextAt)],
  ];
  for (const line of alignColumns(lines.map(([name, text]) => [name, visible(text)])))
    process.stdout.write(`${line}\n`);
}

function show(plan: MarketPlan, { json }: Options): void {
  const changed = plan.models.filter((model) => model.oldRate !== model.newRate || isGainOrLoss(model));
  if (json) {
    printJson(asJson(plan, changed));
    return;
  }
  print(changed, COLUMNS);
  const named = [...plan.unknownSlugs.values()].reduce((sum, rows) => sum + rows, 0);
  const unknown = [...plan.unknownSlugs].map(([slug, rows]) => `${slug} (${rows})`).join(', ');
  const lines = [
    `${plan.listings} listings for ${plan.models.length} models; ${changed.length} models change`,
    ...(unknown === '' ? [] : [`skipped unknown models: ${unknown}`]),
    ...more(plan.unknownCount, named, ' rows of other unknown models'),
    ...(plan.repeatedCount === 0 ? [] : [`${plan.repeatedCount} rows repeat a listing; each listing counts once:`]),
    ...plan.repeated.map(({ line, listingId }) => `  line ${line}: ${listingId}`),
    ...more(plan.repeatedCount, plan.repeated.length),
    ...(plan.rejectedCount === 0 ? [] : [`${plan.rejectedCount} rows rejected:`]),
    ...plan.rejected.map(({ line, reason }) => `  line ${line}: ${reason}`),
    ...more(plan.rejectedCount, plan.rejected.length),
  ];
  process.stdout.write(lines.map((line) => `${visible(line)}\n`).join(''));
}

function more(count: number, shown: number, of = ''): string[] {
  return count > shown ? [`  and ${count - shown} more${of}`] : [];
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
    unknown_count: plan.unknownCount,
    rejected_count: plan.rejectedCount,
    rejected: plan.rejected,
    repeated_count: plan.repeatedCount,
    repeated: plan.repeated.map(({ line, listingId }) => ({ line, listing_id: listingId })),
  };
}

function amount(micro: bigint | null): string {
  return micro === null ? '-' : usd(micro);
}

function day(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError('must be a day such as 2026-11-20.');
}
