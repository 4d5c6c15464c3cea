// Loaded into a gateway with --import. On SIGUSR2, it prints the longest stall of the event loop since the previous
// signal and how much of it was computation. On a busy machine, other programs cause the rest.
import { performance } from 'node:perf_hooks';

const EVERY_MS = 2;
let [at, cpu] = [performance.now(), process.cpuUsage()];
let [longest, busiest] = [0, 0];

const look = () => {
  const [now, used] = [performance.now(), process.cpuUsage(cpu)];
  const late = Math.max(0, now - at - EVERY_MS);
  longest = Math.max(longest, late);
  busiest = Math.max(busiest, Math.min(late, (used.user + used.system) / 1_000));
  [at, cpu] = [now, process.cpuUsage()];
};
setInterval(look, EVERY_MS).unref();
process.on('SIGUSR2', () => {
  look();
  process.stdout.write(`stall ${Math.round(longest)} ms, busy ${Math.round(busiest)} ms\n`);
  [longest, busiest] = [0, 0];
});
