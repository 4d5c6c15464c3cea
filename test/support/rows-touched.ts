import pg from 'pg';
import { vi } from 'vitest';

interface Plan {
  'Node Type': string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

interface Sent {
  text: string;
  values: unknown[];
}

/**
 * Returns how many rows the database reads for `work`. Each statement that the gateway sends is executed again with
 * EXPLAIN ANALYZE, and the rows of its scans are added up, including those that a filter removed. Statements that write
 * are skipped.
 */
export async function rowsTouched(pool: pg.Pool, work: () => Promise<unknown>): Promise<number> {
  const sent = await statementsOf(work);
  let rows = 0;
  for (const { text, values } of sent) {
    const { rows: plans } = await pool.query(`explain (analyze, format json) ${text}`, values);
    rows += scanned(plans[0]['QUERY PLAN'][0].Plan);
  }
  return rows;
}

/** Returns the statements that only read and that the gateway's pool sends during `work`. */
async function statementsOf(work: () => Promise<unknown>): Promise<Sent[]> {
  const sent: Sent[] = [];
  const real = pg.Client.prototype.query as (...given: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...given: never[]) {
    const [query, parameters] = given as unknown as [string | { text?: string; values?: unknown[] }, unknown[]?];
    const { text = '', values = [] } = typeof query === 'string' ? { text: query, values: parameters } : query;
    const { application_name } = (this as unknown as { connectionParameters: pg.ClientConfig }).connectionParameters;
    if (application_name === 'gpu-rental-gateway' && /^\s*(select|with)\b(?!.*pg_notify)/is.test(text)) {
      sent.push({ text, values });
    }
    return real.apply(this, given);
  } as never);
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return sent;
}

function scanned(plan: Plan): number {
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  const own = /Scan/.test(plan['Node Type']) ? (plan['Actual Rows'] + removed) * plan['Actual Loops'] : 0;
  return (plan.Plans ?? []).reduce((sum, each) => sum + scanned(each), own);
}
