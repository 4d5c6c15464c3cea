import type { PreparedStatement, Transaction } from '../../database/transaction.js';
import type { Write } from '../billing/ledger.js';
import { type Stretch, without } from '../kernel/fleet.js';
import { type Account, credit, type Step } from '../kernel/lifecycle.js';
import { type Rate, unitsOfUsage } from '../kernel/money.js';
import { formatInstant, type Instant } from '../kernel/time.js';

export type Resource = 'GPU' | 'DISK';
export type Reason = 'SLOW_START' | 'TEMPLATE_START' | 'START_FAILED' | 'OUTAGE';

interface Gap {
  ordinal: number;
  resource: Resource;
  startedAt: Instant;
  endedAt: Instant;
}

/** Collects the service credits for one instance's charges. The account must be locked. */
export class ServiceGaps {
  readonly #instanceId: string;
  readonly #step: Step;
  readonly #transaction: Transaction;
  readonly #gaps: Gap[];

  private constructor(current: Write, account: Account, instanceId: string, gaps: readonly Gap[]) {
    this.#instanceId = instanceId;
    this.#step = current.step(account);
    this.#transaction = current.transaction;
    this.#gaps = [...gaps];
  }

  static async load(current: Write, account: Account, instanceId: string): Promise<ServiceGaps> {
    const [rows] = await current.transaction.run({ ...GAPS, values: [instanceId] });
    return new ServiceGaps(current, account, instanceId, rows as Gap[]);
  }

  /** Adds one ledger entry for each part of the stretch that hasn't been credited yet. */
  add(reason: Reason, resource: Resource, rate: Rate, stretch: Stretch): void {
    const before = this.#gaps
      .filter((gap) => gap.resource === resource)
      .map(({ startedAt, endedAt }) => ({ from: startedAt, to: endedAt }));
    for (const { from, to } of without(stretch, before)) {
      const units = unitsOfUsage(rate, to - from);
      if (units === 0n) continue;
      const id = this.#instanceId;
      const ordinal = this.#gaps.reduce((most, gap) => Math.max(most, gap.ordinal), 0) + 1;
      this.#gaps.push({ ordinal, resource, startedAt: from, endedAt: to });
      const values = [id, ordinal, resource, reason, rate, formatInstant(from), formatInstant(to)];
      this.#transaction.later({ name: 'insert-gap', text: INSERT_GAP, values });
      credit(this.#step, {
        id: `${id}/service/${ordinal}`,
        accountId: this.#step.account.id,
        kind: 'SERVICE_CREDIT',
        units,
        at: this.#step.at,
        instanceId: id,
        reference: null,
        note: `${resource === 'GPU' ? 'GPU' : 'disk'}, ${to - from} s: ${NOTES[reason]}`,
      });
    }
  }
}

export const NOTES: Record<Reason, string> = {
  SLOW_START: 'before the container was running',
  TEMPLATE_START: 'the template did not start in time',
  START_FAILED: 'the machine failed to start it',
  OUTAGE: 'the machine was unreachable',
};

const GAPS: Pick<PreparedStatement, 'name' | 'text'> = {
  name: 'gaps-of-instance',
  text: `select ordinal, resource, started_at as "startedAt", ended_at as "endedAt" from service_gap
         where instance_id = $1 order by ordinal`,
};
const INSERT_GAP = `
  insert into service_gap (instance_id, ordinal, resource, reason, rate, started_at, ended_at)
  values ($1, $2, $3, $4, $5, $6, $7)`;
