import { stringify } from 'csv-stringify/sync';
import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import { CSV_CAST } from '../kernel/csv.js';
import { check } from '../kernel/field.js';
import { addMonths, formatInstant, type Instant, parseMonth } from '../kernel/time.js';
import type { SettlingDeps } from './deps.js';
import { billingFields } from './fields.js';
import { FOCUS_COLUMNS, type FocusCharge, type FocusRefund, type FocusResource, focusRow } from './rules/focus.js';
import { invoiceNumber } from './rules/invoice-number.js';
import { type StatementDay, statementDays } from './statement.js';

/**
 * Returns the charges of a UTC month, such as 2026-11, as CSV in the columns of FOCUS 1.2, one row per resource, kind of
 * charge, rate and day. The current month ends with the current second. Throws if there are more than `maxRows` charges.
 */
export async function focusExport(
  deps: SettlingDeps,
  accountId: string,
  monthText: string,
  maxRows: number = Number.MAX_SAFE_INTEGER,
): Promise<string> {
  const month = startOfMonth(monthText);
  const period = { from: month, to: addMonths(month, 1) };
  const { days, about } = await statementDays(deps, accountId, period, maxRows, async (transaction, read) => ({
    resources: await resourcesOf(transaction, read),
    refunds: await refundsOf(transaction, read, month),
    accountName: await accountName(transaction, accountId),
  }));
  const { operatorName } = deps.settings;
  const invoiceId = invoiceNumber(accountId, monthText);
  const bill = { accountId, accountName: about.accountName, operatorName, invoiceId, month };
  const rows = days.flatMap((day) => chargesOf(day, about)).map((charge) => focusRow(charge, bill));
  return stringify([FOCUS_COLUMNS, ...rows], { cast: CSV_CAST });
}

function startOfMonth(text: string): Instant {
  return required(parseMonth(check('month', billingFields.month, text)), 'month');
}

/** Returns a day's charges and the movements that change cost. Payments are not cost. */
function chargesOf(
  { from: day, lines, movements }: StatementDay,
  { resources, refunds }: { resources: Map<string, FocusResource>; refunds: Map<string, FocusRefund> },
): FocusCharge[] {
  const resourceOf = (id: string | null) => (id === null ? null : (resources.get(id) ?? null));
  return [
    ...lines.map(({ kind, units, seconds, rate, instanceId, volumeId }) => {
      return {
        kind,
        day,
        units,
        seconds,
        rate,
        resource: resourceOf(instanceId ?? volumeId),
        refund: null,
        note: null,
      };
    }),
    ...movements.flatMap(({ id, kind, units, instanceId, note }) => {
      if (kind === 'CREDIT') return [];
      const [resource, refund] = [resourceOf(instanceId), refunds.get(id) ?? null];
      return [{ kind, day, units: -units, seconds: null, rate: null, resource, refund, note }];
    }),
  ];
}

async function resourcesOf(
  transaction: Transaction,
  days: readonly StatementDay[],
): Promise<Map<string, FocusResource>> {
  const charged = days.flatMap(({ lines, movements }) => [...lines, ...movements]);
  const instances = new Set(charged.map(({ instanceId }) => instanceId));
  const volumes = new Set(days.flatMap(({ lines }) => lines.map(({ volumeId }) => volumeId)));
  const { rows } = await transaction.query<FocusResource>({
    name: 'focus-resources',
    text: RESOURCES_SQL,
    values: [[...instances], [...volumes]],
  });
  return new Map(rows.map((resource) => [resource.id, resource]));
}

/** Returns the refunded charges of the service credits, by their ids. */
async function refundsOf(
  transaction: Transaction,
  days: readonly StatementDay[],
  month: Instant,
): Promise<Map<string, FocusRefund>> {
  const credited = days.flatMap(({ movements }) => movements.filter(({ kind }) => kind === 'SERVICE_CREDIT'));
  const { rows } = await transaction.query<FocusRefund & { id: string }>({
    name: 'focus-refunds',
    text: REFUNDS_SQL,
    values: [credited.map(({ instanceId }) => instanceId), formatInstant(month)],
  });
  return new Map(rows.map(({ id, ...refund }) => [id, refund]));
}

async function accountName(transaction: Transaction, accountId: string): Promise<string> {
  const { rows } = await transaction.query<{ name: string }>({
    name: 'focus-account',
    text: 'select name from account where id = $1',
    values: [accountId],
  });
  return only(rows).name;
}

const RESOURCES_SQL = `
  select id, launch ->> 'name' as name, false as "isVolume", disk_rate / disk_gb as "gbRate", gpu, num_gpus as "numGpus", mode::text, region, labels
  from instance left join instance_launch on instance_id = id where id = any($1::text[])
  union all
  select id, name, true, gb_rate, null, null, null, null, null from volume where id = any($2::text[])`;

const REFUNDS_SQL = `
  select instance_id || '/service/' || ordinal as id, resource::text, started_at < $2::timestamptz as "isLate"
  from service_gap where instance_id = any($1::text[])`;
