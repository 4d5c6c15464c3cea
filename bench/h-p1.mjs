import { withClient } from './support/database.mjs';
import { createDefaultData, rentalsOf } from './support/default-data.mjs';
import { runLoad } from './support/load.mjs';
import { startGateway } from './support/programs.mjs';
import { pairClient } from './support/rental-client.mjs';
import { measure } from './support/rounds.mjs';
import { withServer } from './support/session.mjs';

await withServer(async (server) => {
  console.time('data');
  const url = await createDefaultData(server, 'gateway');
  console.timeEnd('data');
  const gateway = await startGateway(url);
  const rentals = await rentalsOf(url);
  const rent = async (seconds) => {
    const load = await runLoad({
      port: gateway.port,
      connections: rentals.length,
      seconds,
      clientOf: (c) => pairClient(rentals[c]),
      status: [200, 201],
    });
    return { ...load, perSecond: load.perSecond / 2 };
  };
  const side = (sql) => ({
    pid: gateway.pid,
    run: async (seconds) => {
      await withClient(url, (c) => c.query(sql));
      return rent(seconds);
    },
  });
  const on = side('alter table ledger_entry enable trigger ledger_entry_chain');
  const off = side('alter table ledger_entry disable trigger ledger_entry_chain');
  const { rounds, ...rest } = await measure(
    { subject: on, peer: off },
    { seconds: 8, rounds: Number(process.argv[2] ?? 3) },
  );
  console.log(JSON.stringify(rest, null, 1));
  console.log(rounds.map((r) => (r.subject.perSecond / r.peer.perSecond).toFixed(3)).join(' '));
  await withClient(url, async (c) => {
    const time = async (name, text) => {
      const t = performance.now();
      await c.query(text);
      console.log(name, (performance.now() - t).toFixed(1), 'ms');
    };
    await c.query('begin');
    for (const [name, n] of [
      ['1', 1],
      ['1k', 1000],
      ['1k', 1000],
    ])
      await time(
        `chain ${name}`,
        `select count(chain_hash(1, sha256(''), e)) from (select ledger_entry as e from ledger_entry where kind = 'GPU_USAGE' limit ${n}) x`,
      );
    await c.query('rollback');
  });
  await gateway.end();
});
