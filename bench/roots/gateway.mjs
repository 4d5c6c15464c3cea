// A gateway that makes a root whenever it receives a message, and reports how long that took and held up its event
// loop. Its clock stands still, so that only these messages make roots after its start.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../dist/src/compose/config.js';
import { openGateway } from '../../dist/src/compose/gateway.js';
import { appendToLog } from '../../dist/src/domain/proof/log.js';
import { openLog } from '../../dist/src/logging/log.js';
import { systemClock } from '../../dist/src/std/system-clock.js';

const NS_PER_MS = 1_000_000;

async function measured(work) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const startedAt = performance.now();
  const result = await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  delay.disable();
  return { ...result, seconds, delayMs: delay.max / NS_PER_MS };
}

process.once('message', async (env) => {
  const now = systemClock.now();
  const clock = { now: () => now, nowMs: () => Number(now) * 1_000 };
  const gateway = await openGateway(readConfig(env), clock, openLog('warn').log);
  process.on('message', async ({ idleMs }) => {
    const work = idleMs === undefined ? () => appendToLog(gateway.deps) : () => sleep(idleMs);
    process.send(await measured(work));
  });
  process.on('SIGTERM', () => void gateway.close().finally(() => process.exit(0)));
  process.send({ port: Number(new URL(gateway.address).port) });
});
