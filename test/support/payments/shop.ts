import { randomBytes } from 'node:crypto';
import type { Config } from '../../../src/compose/config.js';
import { createTestDatabase } from '../database.js';
import { type Renter, startGateway, type TestGateway } from '../gateway.js';
import { type Chain, WrittenChain } from './chain.js';
import { type ShkeeperOptions, TestShkeeper } from './shkeeper.js';

export const KEY = 'a-key-of-the-processor';

/** Gateways on one database, with a processor that behaves like SHKeeper. A chain that is passed in stays open. */
export interface Shop {
  gateways: TestGateway[];
  gateway: TestGateway;
  shkeeper: TestShkeeper;
  chain: Chain;
  close(): Promise<void>;
}

export async function openShop(
  options: Partial<ShkeeperOptions> & { gateways?: number; config?: Partial<Config> } = {},
): Promise<Shop> {
  const { gateways: count = 1, config = {}, ...rest } = options;
  const chain = rest.chains?.LTC ?? new WrittenChain();
  const gateways: TestGateway[] = [];
  const shkeeper = new TestShkeeper({
    key: KEY,
    chains: { LTC: chain },
    rates: { LTC: '80' },
    confirmations: 6,
    now: () => Number(gateways[0]!.clock.now()),
    ...rest,
  });
  const paymentsUrl = await shkeeper.listen();
  const databaseUrl = await createTestDatabase();
  for (let index = 0; index < count; index += 1) {
    const payments = { payments: 'shkeeper' as const, paymentsUrl, paymentsKey: KEY };
    gateways.push(await startGateway({ databaseUrl, ...payments, ...config }));
  }
  return {
    gateways,
    gateway: gateways[0]!,
    shkeeper,
    chain,
    close: async () => {
      for (const gateway of gateways) await gateway.close();
      await shkeeper.close();
    },
  };
}

const TOP_UP_FIELDS = `id state asset network usd credited address amount rate uri confirmations confirmationsNeeded
  createdAt expiresAt payments { transaction state amount usd confirmations }`;

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function topUp(renter: Renter, usd: number, asset = 'LTC', idempotencyKey?: string): Promise<any> {
  const input = { asset, usd, idempotencyKey: idempotencyKey ?? randomBytes(8).toString('hex') };
  const { body } = await renter.graphql(
    `mutation ($input: CreateTopUpInput!) { createTopUp(input: $input) { ${TOP_UP_FIELDS} } }`,
    { input },
  );
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return body.data.createTopUp;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
export async function read(renter: Renter, id: string): Promise<any> {
  const { body } = await renter.graphql(
    `query ($id: ID!) { topUp(id: $id) { ${TOP_UP_FIELDS} } balance { balance } account { pendingTopUps { id } } }`,
    { id },
  );
  if (body.errors) throw new Error(JSON.stringify(body.errors));
  return { ...body.data.topUp, balance: body.data.balance.balance, underWay: body.data.account.pendingTopUps };
}
