import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { createDeps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { isUnavailable } from '../../../src/database/faults.js';
import { deploy } from '../../../src/domain/instances/instances.js';
import { systemClock } from '../../../src/std/system-clock.js';
import { testSettings } from '../../support/clock.js';
import { openWire } from '../../support/database-wire.js';
import { type EventStream, subscribe } from '../../support/events.js';
import { client } from '../../support/gateway.js';
import { isLong } from '../../support/long.js';
import { cleanUp, startProcess } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';

/**
 * A gateway crashes in its first second. Another one on the same database continues and receives no other notices in
 * the meantime.
 */

const MACHINES = 4;
const GPU = 'mi325x';
const PATIENCE = { timeout: 60_000, interval: 50 };

afterAll(cleanUp);

/** The remaining gateway, with one renting account and a subscriber to its events. */
class Witness {
  readonly #service: Service;
  readonly accountId: string;
  readonly key: string;
  readonly #told: EventStream;
  #heard = 0;

  private constructor(service: Service, accountId: string, key: string, told: EventStream) {
    this.#service = service;
    this.accountId = accountId;
    this.key = key;
    this.#told = told;
  }

  static async open(service: Service): Promise<Witness> {
    service.clock.set(systemClock.now());
    const { accountId, key } = await service.renter('9000');
    const told = await subscribe(service.address, 'subscription { instanceChanged { id } }', { key });
    return new Witness(service, accountId, key, told);
  }

  async machines(): Promise<string[]> {
    const made = Array.from({ length: MACHINES }, () => this.#service.machine({ gpu: GPU, reliability: 1 }));
    return Promise.all(made);
  }

  /**
   * Expects that no machine rented through the crashed gateway is still offered and that the subscriber received every
   * rental. Returns how many rentals are new.
   */
  async knowsAll(): Promise<number> {
    const rented = await this.#service.deps.db.prisma.instance.findMany({ where: { accountId: this.accountId } });
    const stillOffered = async () => {
      const { body } = await this.#service.anyone.rest('GET', `/offers?gpu=${GPU}&limit=100`);
      const offered = new Set(body.data.map(({ machine_id }: { machine_id: string }) => machine_id));
      return rented.filter(({ machineId }) => offered.has(machineId)).length;
    };
    const untold = () => rented.filter(({ id }) => !this.#told.text().includes(id)).length;
    await expect.poll(stillOffered, PATIENCE).toBe(0);
    await expect.poll(untold, PATIENCE).toBe(0);
    const news = rented.length - this.#heard;
    this.#heard = rented.length;
    return news;
  }
}

describe('other gateways see every rental by a gateway that crashes in its first second', () => {
  // Three run concurrently with a witness each, since data read after one crash would hide the effect of the next.
  const COUNT = isLong ? 20 : 6;
  const POINTS = Array.from({ length: COUNT }, (_, index) => (index * 1_000) / COUNT);
  const WITNESSES = isLong ? 3 : 2;

  test('when it is disconnected at different points', { timeout: 240_000 }, async () => {
    const left = [...POINTS];
    const lane = async (): Promise<number> => {
      const service = await startService();
      try {
        const witness = await Witness.open(service);
        let rented = 0;
        for (let afterMs = left.shift(); afterMs !== undefined; afterMs = left.shift()) {
          const [last, ...machines] = await witness.machines();
          const wire = await openWire(new URL(service.databaseUrl));
          const db = openDatabase(wire.url, 'after');
          const dying = createDeps(db, systemClock, testSettings());
          await db.notices.ready();
          await sleep(afterMs);
          // The first notice is sent immediately, and the others are sent later in one batch. The last rental may not
          // be committed yet.
          for (const machineId of machines) {
            // The gateway allows 5 s for connecting, which may be too little on a busy machine.
            const rent = () => deploy(dying, witness.accountId, { machineId, diskGb: 1 });
            await rent().catch((error) => (isUnavailable(error) ? rent() : Promise.reject(error)));
          }
          const inFlight = deploy(dying, witness.accountId, { machineId: last!, diskGb: 1 }).catch(() => {});
          await new Promise(setImmediate);
          wire.cut();
          await inFlight;
          rented += await witness.knowsAll();
          await Promise.all([db.close(), wire.close()]);
        }
        return rented;
      } finally {
        await service.close();
      }
    };
    const rented = await Promise.all(Array.from({ length: WITNESSES }, lane));
    expect(rented.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(POINTS.length);
  });

  test.each(isLong ? [0, 200] : [0])(
    'when it is killed %i ms after it reports that it is listening',
    { timeout: 120_000 },
    async (afterMs) => {
      const service = await startService();
      try {
        const witness = await Witness.open(service);
        const machines = await witness.machines();
        const env = { DATABASE_URL: service.databaseUrl, LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '0' };
        const { address, kill } = await startProcess(env);
        const renter = client(address, witness.key, witness.accountId);
        const first = await renter.rest('POST', '/instances', { machine_id: machines.pop(), disk_gb: 1 });
        expect(first.status).toBe(201);
        const renting = machines.map((id) => renter.rest('POST', '/instances', { machine_id: id }).catch(() => null));
        await sleep(afterMs);
        await kill();
        await Promise.all(renting);
        expect(await witness.knowsAll()).toBeGreaterThan(0);
      } finally {
        await service.close();
      }
    },
  );
});
