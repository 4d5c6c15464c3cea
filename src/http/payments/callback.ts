import express, { type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { LedgerDeps } from '../../domain/billing/deps.js';
import { DomainError } from '../../domain/kernel/errors.js';
import type { PaymentEvent } from '../../domain/top-ups/book-payments.js';
import { receiveCallback } from '../../domain/top-ups/callbacks.js';
import type { TopUpDeps } from '../../domain/top-ups/deps.js';

/**
 * Maximum size of a callback, which is enough for a thousand transactions of 700 bytes each. The limit is generous
 * because the processor would keep resending a rejected callback.
 */
const BODY_LIMIT = '1mb';

/**
 * Handles the payment processor's callbacks. Verifies the bytes as sent, regardless of their content type. Responds
 * with 202 once everything is committed. After any other response, the processor resends the callback.
 */
export function createPaymentCallback(
  deps: LedgerDeps & Pick<TopUpDeps, 'payments'>,
  log: Logger,
  onPayment: (event: PaymentEvent) => void,
): RequestHandler[] {
  const receive: RequestHandler = async (request, response) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const outcome = await receiveCallback(deps, body, request.headers, onPayment);
    const { id } = request.state;
    if (outcome.kind === 'refused') {
      // Neither the body nor the headers are logged, because the sender may have guessed a secret.
      log.warn({ id, reason: outcome.reason }, 'payment callback rejected');
      throw new DomainError('unauthorized', "the callback does not have the payment processor's signature");
    }
    if (outcome.kind === 'quarantined') log.warn({ id, reason: outcome.reason }, 'payment callback quarantined');
    response.status(202).json({ status: 'accepted' });
  };
  return [express.raw({ type: () => true, limit: BODY_LIMIT, inflate: false }), receive];
}
