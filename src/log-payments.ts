import type { Logger } from 'pino';
import { formatUsd } from './domain/rules/money.js';
import type { PaymentEvent } from './domain/top-ups/book-payments.js';
import type { PaymentProcessor } from './domain/top-ups/processor.js';

/** Logs the outcome of each payment; the operator has to look at warnings. */
export function logPayment(log: Logger): (event: PaymentEvent) => void {
  return ({ usdMicro, state, ...event }) => {
    const line = { ...event, state, usd: usdMicro === null ? null : formatUsd(usdMicro) };
    if (state === 'LOST') log.error(line, 'a credited payment is taken back by the processor');
    else if (state === 'QUARANTINED' || state === 'GONE') log.warn(line, 'payment kept aside');
    else log.info(line, 'payment');
  };
}

/** The processor, with each of its faults in the log: callers only learn that it does not answer. */
export function withLog(
  processor: PaymentProcessor,
  log: Logger,
  onFault: (what: string) => void = () => {},
): PaymentProcessor {
  const logged = async <T>(what: string, asked: Promise<T>): Promise<T> => {
    try {
      return await asked;
    } catch (error) {
      log.warn({ what, reason: (error as Error).message }, 'payment processor');
      onFault(what);
      throw error;
    }
  };
  return {
    name: processor.name,
    verify: processor.verify,
    assets: () => logged('assets', processor.assets()),
    open: (request) => logged('open', processor.open(request)),
    read: (topUp) => logged('read', processor.read(topUp)),
  };
}
