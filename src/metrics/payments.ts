import { Counter, type Registry } from 'prom-client';
import { MICRO_PER_USD } from '../domain/kernel/money.js';
import type { PaymentEvent } from '../domain/top-ups/book-payments.js';

export interface PaymentCounts {
  event(event: PaymentEvent): void;
  /** Counts a failed call to the processor. */
  fault(what: string): void;
}

/** Counts payment outcomes. */
export function countPayments(registry: Registry): PaymentCounts {
  const registers = [registry];
  const events = new Counter({
    name: 'gpu_rental_payment_events_total',
    help: "This process only. Payments for top-ups by outcome; quarantined, gone and lost need the operator's attention.",
    labelNames: ['asset', 'state'] as const,
    registers,
  });
  const credited = new Counter({
    name: 'gpu_rental_payments_credited_usd_total',
    help: 'This process only. USD credited for payments.',
    registers,
  });
  const faults = new Counter({
    name: 'gpu_rental_payment_processor_faults_total',
    help: 'This process only. Failed calls to the payment processor, by call.',
    labelNames: ['asked'] as const,
    registers,
  });
  for (const asked of ['assets', 'open', 'read']) faults.inc({ asked }, 0);
  return {
    event: ({ asset, state, usdMicro }) => {
      events.inc({ asset, state: state.toLowerCase() });
      if (state === 'CREDITED') credited.inc(Number(usdMicro ?? 0n) / Number(MICRO_PER_USD));
    },
    fault: (asked) => faults.inc({ asked }),
  };
}
