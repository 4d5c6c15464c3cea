import { Counter, type Registry } from 'prom-client';
import type { DomainEvents } from '../domain/kernel/domain-events.js';

/** Counts domain events. */
export function countRentals(registry: Registry): DomainEvents {
  const registers = [registry];
  const deploys = new Counter({
    name: 'gpu_rental_deploys_total',
    help: 'This process only. Deploys by outcome: rented, replayed (the stored response of an earlier request), or the reason of the refusal.',
    labelNames: ['outcome'] as const,
    registers,
  });
  const stops = new Counter({
    name: 'gpu_rental_instance_stops_total',
    help: 'This process only. Instances that stopped running, by reason, such as preempted and balance_exhausted.',
    labelNames: ['reason'] as const,
    registers,
  });
  const volumeWrites = new Counter({
    name: 'gpu_rental_volume_writes_total',
    help: 'This process only. Snapshot object writes by outcome: stored, refused, full (the volume is at its limit), store_full, broken (aborted by the sender), or failed (in the store).',
    labelNames: ['outcome'] as const,
    registers,
  });
  const upkeep = new Counter({
    name: 'gpu_rental_volume_upkeep_total',
    help: 'This process only. Volume repositories pruned, erased or copied, and failures.',
    labelNames: ['outcome'] as const,
    registers,
  });
  // The counters are exported as 0 from the start, so that the first event shows as an increase.
  for (const outcome of ['rented', 'replayed']) deploys.inc({ outcome }, 0);
  for (const reason of ['user', 'preempted', 'balance_exhausted']) stops.inc({ reason }, 0);
  for (const outcome of ['stored', 'refused', 'full', 'store_full', 'broken', 'failed'])
    volumeWrites.inc({ outcome }, 0);
  for (const outcome of ['pruned', 'erased', 'copied', 'failed']) upkeep.inc({ outcome }, 0);
  return {
    deploy: (outcome) => deploys.inc({ outcome }),
    stopped: (reason) => stops.inc({ reason: reason.toLowerCase() }),
    volumeWritten: (outcome) => volumeWrites.inc({ outcome }),
    volumeMaintained: (outcome) => upkeep.inc({ outcome }),
  };
}
