import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  states: {
    WAITING: 'waiting for payment',
    SEEN: 'payment detected, not in a block yet',
    CONFIRMING: 'payment being confirmed',
    CREDITED: 'credited',
    UNDERPAID: 'credited, less than requested',
    OVERPAID: 'credited, more than requested',
    LATE: 'credited, paid late',
    EXPIRED: 'expired without payment; a late payment is still credited',
    QUARANTINED: 'a payment awaits the operator’s decision',
  },
  /** The same in a word. */
  words: {
    WAITING: 'waiting for payment',
    SEEN: 'payment detected',
    CONFIRMING: 'confirming',
    CREDITED: 'credited',
    UNDERPAID: 'underpaid',
    OVERPAID: 'overpaid',
    LATE: 'paid late',
    EXPIRED: 'expired',
    QUARANTINED: 'on hold',
  },
  /** `contact` is null if the operator names none. */
  noPayments: (contact: ComponentChildren): ComponentChildren =>
    contact === null ? (
      'This service accepts no payments here. Ask its operator for credit.'
    ) : (
      <>This service accepts no payments here. For credit, contact {contact}.</>
    ),
  title: 'Add credit',
  caption: 'Top-ups',
  pending: 'Pending top-ups',
  payNow: 'Pay',
  show: 'Details',
  requestedAt: 'Requested',
  requested: 'Amount (USD)',
  toPay: 'Payment',
  state: 'State',
  credited: 'Credited (USD)',
  usd: 'Amount (USD)',
  payIn: 'Pay in',
  terms: (minimum: string, confirmations: number) =>
    `At least ${minimum} USD. Credit is added after ${plural(confirmations, { one: '1 confirmation', other: `${number(confirmations)} confirmations` })}.`,
  coinOn: (coin: string, network: string) => `${coin} on ${network}`,
  request: 'Get address',
  pay: (amount: string, coin: string) => `Pay ${amount} ${coin}`,
  confirmations: (count: number, needed: number) => `${number(count)} of ${number(needed)} confirmations`,
  exactly: 'Exactly',
  network: 'Network',
  promisedUntil: 'Rate guaranteed until',
  left: (time: string) => `${time} left`,
  over: 'expired',
  copyAddress: 'Copy address',
  copyAmount: 'Copy amount',
  openWallet: 'Open in wallet',
  warning: 'Payments on another network may be lost. Credit is added once the payment is final.',
  qr: 'Payment QR code',
};
