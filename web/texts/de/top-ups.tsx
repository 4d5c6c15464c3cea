import { number } from '../../figures/number.js';
import type { texts as english } from '../en/top-ups.js';
import { plural } from '../plural.js';

export const texts: typeof english = {
  states: {
    WAITING: 'wartet auf die Zahlung',
    SEEN: 'Zahlung erkannt, noch in keinem Block',
    CONFIRMING: 'Zahlung wird bestätigt',
    CREDITED: 'gutgeschrieben',
    UNDERPAID: 'gutgeschrieben, weniger als angefordert',
    OVERPAID: 'gutgeschrieben, mehr als angefordert',
    LATE: 'gutgeschrieben, verspätet bezahlt',
    EXPIRED: 'ohne Zahlung abgelaufen; eine verspätete Zahlung wird trotzdem gutgeschrieben',
    QUARANTINED: 'über eine Zahlung muss der Betreiber entscheiden',
  },
  words: {
    WAITING: 'wartet auf Zahlung',
    SEEN: 'Zahlung erkannt',
    CONFIRMING: 'wird bestätigt',
    CREDITED: 'gutgeschrieben',
    UNDERPAID: 'zu wenig bezahlt',
    OVERPAID: 'zu viel bezahlt',
    LATE: 'spät bezahlt',
    EXPIRED: 'abgelaufen',
    QUARANTINED: 'in Prüfung',
  },
  noPayments: (contact) =>
    contact === null ? (
      'Dieser Dienst nimmt hier keine Zahlungen an. Bitten Sie den Betreiber um Guthaben.'
    ) : (
      <>Dieser Dienst nimmt hier keine Zahlungen an. Kontakt für Guthaben: {contact}</>
    ),
  title: 'Guthaben aufladen',
  caption: 'Aufladungen',
  pending: 'Offene Aufladungen',
  payNow: 'Bezahlen',
  show: 'Details',
  requestedAt: 'Angefordert',
  requested: 'Betrag (USD)',
  toPay: 'Zahlung',
  state: 'Zustand',
  credited: 'Gutgeschrieben (USD)',
  usd: 'Betrag (USD)',
  payIn: 'Bezahlen mit',
  terms: (minimum, confirmations) =>
    `Mindestens ${minimum} USD. Das Guthaben wird nach ${plural(confirmations, { one: '1 Bestätigung', other: `${number(confirmations)} Bestätigungen` })} gutgeschrieben.`,
  coinOn: (coin, network) => `${coin} über ${network}`,
  request: 'Adresse anfordern',
  pay: (amount, coin) => `${amount} ${coin} zahlen`,
  confirmations: (count, needed) =>
    plural(needed, {
      one: `${number(count)} von 1 Bestätigung`,
      other: `${number(count)} von ${number(needed)} Bestätigungen`,
    }),
  exactly: 'Genau',
  network: 'Netzwerk',
  promisedUntil: 'Kurs garantiert bis',
  left: (time) => `noch ${time}`,
  over: 'abgelaufen',
  copyAddress: 'Adresse kopieren',
  copyAmount: 'Betrag kopieren',
  openWallet: 'In Wallet öffnen',
  warning:
    'Zahlungen über ein anderes Netzwerk können verloren gehen. Das Guthaben wird gutgeschrieben, sobald die Zahlung endgültig ist.',
  qr: 'QR-Code der Zahlung',
};
