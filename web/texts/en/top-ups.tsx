import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';

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
  noPayments: 'This service doesn’t accept payments here: ask its operator to add credit.',
  title: 'Add credit',
  caption: 'Top-ups',
  requested: 'Requested',
  toPay: 'To pay',
  state: 'State',
  credited: 'Credited, USD',
  of: (amount: string, at: ComponentChildren) => (
    <>
      {amount} USD, {at}
    </>
  ),
  usd: 'USD',
  payIn: 'in',
  coinOn: (coin: string, network: string) => `${coin} on ${network}`,
  requesting: 'Requesting an address …',
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
