import type { Logger } from 'pino';
import { formatUsd } from '../domain/kernel/money.js';
import type { PaymentEvent } from '../domain/top-ups/book-payments.js';
import type { PaymentProcessor } from '../domain/top-ups/processor.js';

/** Logs each payment's outcome. Warnings and errors need the operator's attention. */
export function logPayment(log: Logger): (event: PaymentEvent) => void {
  return ({ usdMicro, state, ...event }) => {
    const line = { ...event, state, usd: usdMicro === null ? null : formatUsd(usdMicro) };
    if (state === 'LOST') log.error(line, 'processor reversed a credited payment');
    else if (state === 'QUARANTINED' || state === 'GONE') log.warn(line, 'payment needs review');
    else log.info(line, 'payment recorded');
  };
}

/** Wraps the payment processor to log its faults. Callers learn only that it is unavailable. */
export function withLog(
  processor: PaymentProcessor,
  log: Logger,
  onFault: (what: string) => void = () => {},
): PaymentProcessor {
  const logged = async <T>(what: string, call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      log.warn({ what, reason: (error as Error).message }, 'payment processor request failed');
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
    list: (since) => logged('list', processor.list(since)),
  };
}
