import { rowsOf } from '../support/database.mjs';
import { startGateway } from '../support/programs.mjs';
import { settings } from '../support/settings.mjs';

/** Interval between a reader's requests. */
const EVERY_MS = 5;
/** Time for which latency is measured before each event and, below, after it. */
const QUIET_MS = 3_000;
const AFTER_MS = 6_000;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Measures the maximum latency of `GET /offers` before and after each event, with 100,000 machines. Returns one result
 * per event.
 */
export async function stalls(url, mostMs) {
  const gateway = await startGateway(url);
  const results = [];
  try {
    for (const [name, cause] of Object.entries(EVENTS)) {
      const worst = { before: [], after: [] };
      for (let time = 0; time < settings.rounds; time += 1) {
        // Undoes an event that an aborted run may have left in place.
        await cause.undo?.(url, undefined, time);
        const prepared = await cause.prepare?.(url);
        await pause(QUIET_MS);
        const latencies = { before: 0, after: 0 };
        const phase = { now: 'before', isOver: false };
        const reading = read(gateway.port, phase, latencies);
        try {
          await pause(QUIET_MS);
          phase.now = 'after';
          await cause.happen(url, prepared, time);
          await pause(AFTER_MS);
        } finally {
          phase.isOver = true;
          await reading;
        }
        await cause.undo?.(url, prepared, time);
        worst.before.push(latencies.before);
        worst.after.push(latencies.after);
      }
      const [before, after] = [Math.max(...worst.before), Math.max(...worst.after)];
      const verdict = after - before <= mostMs ? 'reached' : 'missed';
      const line = `${name}: the slowest response took ${before.toFixed(0)} ms before, ${after.toFixed(0)} ms after: ${verdict}`;
      console.log(line);
      results.push({ name, worst, before, after });
    }
  } finally {
    await gateway.end();
  }
  return results;
}

/** Records the slowest response of each phase. Every request is different, so that none is served from the cache. */
async function read(port, phase, latencies) {
  for (let number = 0; !phase.isOver; number += 1) {
    const startedAt = performance.now();
    const begunIn = phase.now;
    const answer = await fetch(`http://127.0.0.1:${port}/v1/offers?price_max=${10_000 + number / 100}`);
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`GET /offers returned ${answer.status}`);
    const counted = begunIn === 'before' && phase.now === 'after' ? 'after' : begunIn;
    latencies[counted] = Math.max(latencies[counted], performance.now() - startedAt);
    await pause(EVERY_MS);
  }
}

const dayOf = (time) => new Date(Date.UTC(2030, 0, 1 + time)).toISOString().slice(0, 10);

/** Events that make a gateway reload everything. */
const EVENTS = {
  'a new sheet': {
    happen: async (url, _prepared, time) => {
      await rowsOf(url, `insert into market_snapshot (date, published_at) values ($1, now())`, [dayOf(time)]);
      await rowsOf(
        url,
        `insert into gpu_price (snapshot_date, gpu, on_demand_rate, median_micro, listings)
         select $1::date, gpu, on_demand_rate + 10000, median_micro, listings from gpu_price
         where snapshot_date = (select max(date) from market_snapshot where date < $1::date)`,
        [dayOf(time)],
      );
    },
    undo: async (url, _prepared, time) => {
      await rowsOf(url, 'delete from gpu_price where snapshot_date = $1::date', [dayOf(time)]);
      await rowsOf(url, 'delete from market_snapshot where date = $1::date', [dayOf(time)]);
    },
  },
  '60 new machines': machines(60),
  '5,000 new machines': machines(5_000),
  'a gateway that is killed': {
    prepare: (url) => startGateway(url),
    happen: async (_url, { pid }) => process.kill(pid, 'SIGKILL'),
  },
};

function machines(count) {
  return {
    happen: (url) =>
      rowsOf(
        url,
        `insert into machine select (jsonb_populate_record(machine, jsonb_build_object('host_id', '', 'id', 'stall-' || n))).*
         from machine, generate_series(1, $1::int) n where id = (select min(id) from machine where state = 'LISTED')`,
        [count],
      ),
    undo: (url) => rowsOf(url, `delete from machine where id like 'stall-%'`),
  };
}
