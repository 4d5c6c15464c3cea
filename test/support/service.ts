import { randomBytes } from 'node:crypto';
import type { Config } from '../../src/compose/config.js';
import { client, type Renter, startGateway, type TestGateway } from './gateway.js';
import { loadOpenApi, type OpenApi } from './openapi.js';

/** A test gateway, all of whose REST responses are checked against its own OpenAPI document. */
export interface Service extends TestGateway {
  api: OpenApi;
  /** A caller without a key. */
  anyone: Renter;
  /** Returns another caller with this renter's account and another key. */
  withKey(key: string): Renter;
  /** Creates a machine for the test and returns its id. */
  machine(machine?: Partial<TestMachine>): Promise<string>;
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Publishes a price sheet of another date, which is the newest one with these prices changed. */
  publish(date: string, onDemandUsd: Record<string, number>): Promise<void>;
}

interface TestMachine {
  id: string;
  gpu: string;
  numGpus: number;
  region: string;
  diskGb: number;
  reliability: number;
  state: 'LISTED' | 'DRAINED' | 'OFFLINE' | 'RETIRED';
}

export async function startService(overrides: Partial<Config> = {}): Promise<Service> {
  const gateway = await startGateway(overrides);
  const api = await loadOpenApi(gateway.address);
  const { pool, notices } = gateway.deps.db;
  const sql = async (text: string, values: unknown[] = []) => {
    // Writes like another program, so that the database itself notifies the gateway.
    const client = await pool.connect();
    try {
      await client.query(`set gateway.tells = 'within'`);
      return (await client.query(text, values)).rows;
    } finally {
      await client.query(`set gateway.tells = 'after'`);
      client.release();
      await notices.caughtUp();
    }
  };
  return {
    ...gateway,
    api,
    sql,
    anyone: api.watch(client(gateway.address)),
    renter: async (creditUsd) => api.watch(await gateway.renter(creditUsd)),
    withKey: (key) => api.watch(client(gateway.address, key)),
    machine: async (machine = {}) => {
      const { id, gpu, numGpus, region, diskGb, reliability, state } = { ...machineDefaults(), ...machine };
      await sql(
        `insert into machine (id, gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps, ports,
           pcie, nvlink, cuda_max, reliability, state, created_at)
         values ($1, $2, $3, $4, 'AMD EPYC 9354', 32, 256, $5, 5000, 4000, 128, 5, false, '12.8', $6, $7, '2026-11-01')`,
        [id, gpu, numGpus, region, diskGb, reliability, state],
      );
      return id;
    },
    publish: async (date, onDemandUsd) => {
      // This is one statement, because a sheet must not exist without its prices.
      await sql(
        `with snapshot as (insert into market_snapshot (date, published_at) values ($1, '2026-11-20') returning date)
         insert into gpu_price (snapshot_date, gpu, on_demand_rate, median_micro, listings)
         select snapshot.date, gpu, coalesce(($2::jsonb ->> gpu)::numeric * 1000000, on_demand_rate)::bigint,
           median_micro, listings
         from snapshot, gpu_price where snapshot_date = (select max(date) from market_snapshot where date <> $1)`,
        [date, JSON.stringify(onDemandUsd)],
      );
    },
  };
}

/** Resolves once each of these gateways has received all earlier notices of the others and of other programs. */
export async function allCaughtUp(gateways: readonly Pick<TestGateway, 'deps'>[]): Promise<void> {
  // By now, all notices have been sent and have reached the others.
  for (let round = 0; round < 2; round += 1) for (const { deps } of gateways) await deps.db.notices.caughtUp();
}

function machineDefaults(): TestMachine {
  return {
    id: `m-${randomBytes(4).toString('hex')}`,
    gpu: 'h100-sxm',
    numGpus: 1,
    region: 'us-tx',
    diskGb: 1000,
    reliability: 0.99,
    state: 'LISTED',
  };
}
