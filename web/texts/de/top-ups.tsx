import { number } from '../../figures/number.js';
import type { texts as english } from '../en/top-ups.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  states: {
    WAITING: 'wartet auf die Zahlung',
    SEEN: 'Zahlung gesehen, noch in keinem Block',
    CONFIRMING: 'Zahlung wird bestätigt',
    CREDITED: 'gutgeschrieben',
    UNDERPAID: 'gutgeschrieben, weniger als gewünscht',
    OVERPAID: 'gutgeschrieben, mehr als gewünscht',
    LATE: 'gutgeschrieben, nach Ablauf bezahlt',
    EXPIRED: 'nicht rechtzeitig bezahlt; was noch kommt, wird trotzdem gutgeschrieben',
    QUARANTINED: 'über eine Zahlung entscheidet der Betreiber',
  },
  noPayments: 'Guthaben gibt der Betreiber dieses Dienstes: Zahlungen nimmt er hier nicht an.',
  title: 'Guthaben aufladen',
  caption: 'Aufladungen',
  askedFor: 'Gewünscht',
  toPay: 'Zu zahlen',
  state: 'Zustand',
  credited: 'Gutgeschrieben, USD',
  of: (amount, at) => (
    <>
      {amount} USD, {at}
    </>
  ),
  usd: 'USD',
  payIn: 'in',
  coinOn: (coin, network) => `${coin} über ${network}`,
  asking: 'Adresse wird angefordert …',
  ask: 'Adresse anfordern',
  pay: (amount, coin) => `${amount} ${coin} zahlen`,
  confirmations: (count, needed) =>
    plural(needed, {
      one: `${number(count)} von 1 Bestätigung`,
      other: `${number(count)} von ${number(needed)} Bestätigungen`,
    }),
  exactly: 'Genau',
  network: 'Netzwerk',
  promisedUntil: 'Kurs zugesagt bis',
  left: (time) => `noch ${time}`,
  over: 'vorbei',
  copyAddress: 'Adresse kopieren',
  copyAmount: 'Betrag kopieren',
  openWallet: 'Im Wallet öffnen',
  warning:
    'Was über ein anderes Netzwerk gesendet wird, kann verloren gehen. Gutgeschrieben wird, sobald die Zahlung endgültig ist.',
  qr: 'QR-Code der Zahlung',
};
