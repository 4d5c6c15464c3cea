import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';

export const texts = {
  states: {
    WAITING: 'waiting for a payment',
    SEEN: 'payment seen, not in a block yet',
    CONFIRMING: 'payment being confirmed',
    CREDITED: 'credited',
    UNDERPAID: 'credited, less than asked for',
    OVERPAID: 'credited, more than asked for',
    LATE: 'credited, paid after its time',
    EXPIRED: 'nothing paid in time; what comes late is credited all the same',
    QUARANTINED: 'a payment waits for the operator’s decision',
  },
  noPayments: 'Credit is added by whoever operates this service: it takes no payments here.',
  title: 'Add credit',
  caption: 'Top-ups',
  askedFor: 'Asked for',
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
  asking: 'Asking for an address …',
  ask: 'Get an address',
  pay: (amount: string, coin: string) => `Pay ${amount} ${coin}`,
  confirmations: (count: number, needed: number) => `${number(count)} of ${number(needed)} confirmations`,
  exactly: 'Exactly',
  network: 'Network',
  promisedUntil: 'Rate promised until',
  left: (time: string) => `${time} left`,
  over: 'over',
  copyAddress: 'Copy the address',
  copyAmount: 'Copy the amount',
  openWallet: 'Open in a wallet',
  warning: 'What is sent on another network may be lost. Credit follows once the payment is final.',
  qr: 'QR code of the payment',
};
