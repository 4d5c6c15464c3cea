import express, { type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Deps } from '../../domain/deps.js';
import { DomainError } from '../../domain/rules/errors.js';
import type { PaymentEvent } from '../../domain/top-ups/book-payments.js';
import { receiveCallback } from '../../domain/top-ups/callbacks.js';

/** A thousand transactions, each of 700 bytes. What is larger is refused, and sent again for ever: the bound is far away. */
const BODY_LIMIT = '1mb';

/**
 * The payment processor's callbacks. It verifies the bytes as they were sent, whatever their content type. Answered
 * with 202 once all of it is committed; the processor sends again what is answered otherwise.
 */
export function createPaymentCallback(
  deps: Deps,
  log: Logger,
  onPayment: (event: PaymentEvent) => void,
): RequestHandler[] {
  const receive: RequestHandler = async (request, response) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const outcome = await receiveCallback(deps, body, request.headers, onPayment);
    const { id } = request.state;
    if (outcome.kind === 'refused') {
      // Logs neither body nor headers: the sender may have guessed a secret.
      log.warn({ id, reason: outcome.reason }, 'payment callback refused');
      throw new DomainError('unauthorized', 'the callback is not signed as the payment processor signs');
    }
    if (outcome.kind === 'aside') log.warn({ id, reason: outcome.reason }, 'payment callback kept aside');
    response.status(202).json({ status: 'accepted' });
  };
  return [express.raw({ type: () => true, limit: BODY_LIMIT, inflate: false }), receive];
}
