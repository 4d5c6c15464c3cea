import { describe, expect, it } from 'vitest';
import {
  confirmationsOf,
  creditedMicro,
  evaluatePayment,
  MAX_PAYMENT_MICRO,
  NOT_QUERIED_YET,
  type Payment,
  type PaymentState,
  type ReportedPayment,
  type TopUp,
  topUpState,
  withoutReplaced,
} from '../../src/domain/top-ups/rules/top-up.js';

const USD = 1_000_000n;

const TOP_UP: TopUp = {
  id: 'top-1',
  accountId: 'acc-1',
  processor: 'shkeeper',
  asset: 'LTC',
  usdMicro: 600n * USD,
  invoice: '1',
  address: 'address-1',
  amount: '7.5',
  rate: '80',
  createdAt: 0n,
  expiresAt: 1_000n,
};

const REPORT: ReportedPayment = {
  transaction: 'tx-1',
  asset: 'LTC',
  address: 'address-1',
  coins: '7.5',
  usd: 600n * USD,
  usdWithFee: 600n * USD,
  confirmations: 6,
  status: 'final',
};

const PAYMENT: Payment = {
  transaction: 'tx-1',
  state: 'CREDITED',
  asset: 'LTC',
  coins: '7.5',
  usdMicro: 600n * USD,
  confirmations: 6,
  firstSeenAt: 10n,
  creditedAt: 20n,
  confirmedByProcessor: false,
  reason: null,
};

function evaluated(queried: ReportedPayment | null | undefined, { unconfirmed = 0n, usd = REPORT.usd } = {}) {
  const evaluation = { unconfirmedMicro: unconfirmed, queryAboveMicro: 500n * USD, queried, now: 20n };
  return evaluatePayment(TOP_UP, undefined, { ...REPORT, usd }, evaluation);
}

describe('a payment above the confirmation threshold', () => {
  it.each<[string, ReportedPayment]>([
    ['the same payment', REPORT],
    ['more, including its fee', { ...REPORT, usdWithFee: 606n * USD }],
    ['it in a block', { ...REPORT, status: 'pending', confirmations: 1 }],
    ['no address', { ...REPORT, address: null }],
  ])('is credited if the queried processor reports %s', (_name, queried) => {
    expect(evaluated(queried)).toMatchObject({
      state: 'CREDITED',
      confirmedByProcessor: true,
      creditedAt: 20n,
      usdMicro: 600n * USD,
    });
  });

  it.each<[string, ReportedPayment | null]>([
    ['no such payment', null],
    ['a micro-USD less', { ...REPORT, usdWithFee: 600n * USD - 1n }],
    ['no value', { ...REPORT, usdWithFee: null }],
    ['fewer coins', { ...REPORT, coins: '7.4' }],
    ['another coin', { ...REPORT, asset: 'BTC' }],
    ['another address', { ...REPORT, address: 'address-2' }],
    ['it in no block', { ...REPORT, status: 'pending', confirmations: 0 }],
    ['it as gone', { ...REPORT, status: 'gone' }],
  ])('is quarantined if the processor reports %s', (_name, queried) => {
    const reason = 'the processor does not confirm it';
    expect(evaluated(queried)).toMatchObject({ state: 'QUARANTINED', creditedAt: null, reason });
  });

  it('waits until the processor can be queried', () => {
    expect(evaluated(undefined)).toMatchObject({ state: 'QUARANTINED', reason: NOT_QUERIED_YET });
  });

  it("includes one that only exceeds it together with the day's unconfirmed credits", () => {
    const of = (unconfirmed: bigint) => evaluated(undefined, { unconfirmed, usd: 200n * USD })?.state;
    expect([of(300n * USD), of(300n * USD + 1n)]).toEqual(['CREDITED', 'QUARANTINED']);
  });
});

describe('a payment report', () => {
  const SEEN: Payment = { ...PAYMENT, state: 'SEEN', confirmations: 0, usdMicro: null, creditedAt: null };
  const CONFIRMING: Payment = { ...SEEN, state: 'CONFIRMING', confirmations: 3, usdMicro: 600n * USD };
  const PENDING: ReportedPayment = { ...REPORT, status: 'pending', confirmations: 0, usd: null, usdWithFee: null };
  const quarantined = (reason: string): Payment => ({ ...CONFIRMING, state: 'QUARANTINED', reason });
  const quarantinedFor = (reason: string) => ({ state: 'QUARANTINED' as const, creditedAt: null, reason });
  const taken = (known: Payment | undefined, report: ReportedPayment) =>
    evaluatePayment(TOP_UP, known, report, {
      unconfirmedMicro: 0n,
      queryAboveMicro: 2_000_000n * USD,
      queried: undefined,
      now: 20n,
    });

  it.each<[string, Payment | undefined, ReportedPayment, Partial<Payment>]>([
    ['is in no block', undefined, PENDING, { ...SEEN, firstSeenAt: 20n }],
    [
      'is in a block',
      undefined,
      { ...PENDING, confirmations: 1 },
      { state: 'CONFIRMING', confirmations: 1, usdMicro: null },
    ],
    [
      'was seen and is now in a block',
      SEEN,
      { ...PENDING, confirmations: 1 },
      { state: 'CONFIRMING', firstSeenAt: 10n },
    ],
    ['has more confirmations', CONFIRMING, { ...PENDING, confirmations: 4 }, { ...CONFIRMING, confirmations: 4 }],
    ['now has a value', CONFIRMING, { ...PENDING, confirmations: 3, usd: 1n }, { ...CONFIRMING, usdMicro: 1n }],
    ['has other coins', CONFIRMING, { ...PENDING, confirmations: 3, coins: '8' }, { ...CONFIRMING, coins: '8' }],
    ['is final', CONFIRMING, REPORT, { ...PAYMENT, firstSeenAt: 10n, creditedAt: 20n, confirmedByProcessor: false }],
    [
      'was gone and is now final',
      { ...SEEN, state: 'GONE', reason: 'gone' },
      REPORT,
      { state: 'CREDITED', reason: null },
    ],
    ['has no address', CONFIRMING, { ...REPORT, address: null }, { state: 'CREDITED' }],
    ['is gone', CONFIRMING, { ...PENDING, status: 'gone' }, { state: 'GONE', reason: 'the processor withdrew it' }],
    [
      'was waiting for the processor and is now gone',
      quarantined(NOT_QUERIED_YET),
      { ...PENDING, status: 'gone' },
      { state: 'GONE' },
    ],
    [
      'is in another coin',
      undefined,
      { ...REPORT, asset: 'BTC' },
      quarantinedFor('it arrived in another coin or on another network'),
    ],
    [
      'went to another address',
      undefined,
      { ...REPORT, address: 'b' },
      quarantinedFor("it went to another top-up's address"),
    ],
    ['has no value', undefined, { ...REPORT, usd: 0n }, quarantinedFor('it has no value')],
    ['has an unknown value', undefined, { ...REPORT, usd: null }, quarantinedFor('it has no value')],
    [
      'exceeds the maximum',
      undefined,
      { ...REPORT, usd: MAX_PAYMENT_MICRO + 1n },
      quarantinedFor('it exceeds the maximum for one payment'),
    ],
    ['is exactly the maximum', undefined, { ...REPORT, usd: MAX_PAYMENT_MICRO }, { state: 'CREDITED' }],
    [
      'was waiting for the processor and is now below the threshold',
      quarantined(NOT_QUERIED_YET),
      REPORT,
      { state: 'CREDITED' },
    ],
  ])('sets the state of a payment that %s', (_name, known, report, payment) => {
    expect(taken(known, report)).toMatchObject(payment);
  });

  it.each<[string, Payment, ReportedPayment]>([
    ['that was credited', PAYMENT, { ...REPORT, usd: 1n }],
    ['that was credited and is now gone', PAYMENT, { ...PENDING, status: 'gone' }],
    ['that was refused', { ...PAYMENT, state: 'REFUSED' }, REPORT],
    ['that was reversed', { ...PAYMENT, state: 'REVERSED' }, REPORT],
    ['that waits for the operator', quarantined('it has no value'), REPORT],
    ['that waits for the processor', quarantined(NOT_QUERIED_YET), { ...PENDING, confirmations: 3 }],
    ['that lost its block', CONFIRMING, PENDING],
    ['that is reported unchanged', SEEN, PENDING],
  ])('changes nothing about a payment %s', (_name, known, report) => {
    expect(taken(known, report)).toBeNull();
  });
});

it("a top-up's credited amount includes only credited payments", () => {
  const others = (['SEEN', 'CONFIRMING', 'QUARANTINED', 'REFUSED', 'REVERSED', 'GONE'] as const).map((state) => ({
    ...PAYMENT,
    state,
  }));
  expect(creditedMicro([PAYMENT, ...others, { ...PAYMENT, usdMicro: 1n }])).toBe(600n * USD + 1n);
});

it('a top-up has the confirmations of its least confirmed payment', () => {
  const of = (state: PaymentState, confirmations: number): Payment => ({ ...PAYMENT, state, confirmations });
  expect(confirmationsOf([of('CONFIRMING', 3), of('SEEN', 0), of('CREDITED', 6)])).toBe(0);
  expect(confirmationsOf([of('CONFIRMING', 3), of('CREDITED', 2)])).toBe(3);
  expect(confirmationsOf([of('CREDITED', 6)])).toBeNull();
});

describe('a top-up', () => {
  it.each([
    ['nothing before the rate ends', [], 999n, 'WAITING'],
    ['nothing by the second in which the rate ends', [], 1_000n, 'EXPIRED'],
    ['one percent too little', [{ usdMicro: 594n * USD }], 0n, 'CREDITED'],
    ['over one percent too little', [{ usdMicro: 594n * USD - 1n }], 0n, 'UNDERPAID'],
    ['one percent too much', [{ usdMicro: 606n * USD }], 0n, 'CREDITED'],
    ['over one percent too much', [{ usdMicro: 606n * USD + 1n }], 0n, 'OVERPAID'],
    ['everything too late', [{ firstSeenAt: 1_000n }], 0n, 'LATE'],
    ['everything and a payment being confirmed', [{}, { state: 'CONFIRMING' }], 0n, 'CONFIRMING'],
    ['everything and a quarantined payment', [{}, { state: 'QUARANTINED' }], 0n, 'QUARANTINED'],
    ['everything and a payment that was seen', [{}, { state: 'SEEN' }], 0n, 'SEEN'],
    ['a payment in time and a refused late one', [{}, { state: 'REFUSED', firstSeenAt: 1_000n }], 0n, 'CREDITED'],
    ['a payment in time and a late one', [{ usdMicro: USD }, { firstSeenAt: 1_000n }], 0n, 'LATE'],
    ['a refused payment', [{ state: 'REFUSED' }], 0n, 'WAITING'],
  ] as const)('has the expected state after receiving %s', (_name, payments, now, state) => {
    const all = payments.map((payment): Payment => ({ ...PAYMENT, ...payment }));
    expect(topUpState(TOP_UP, all, now)).toBe(state);
  });
});

describe('a payment that is not in a block', () => {
  const SEEN: Payment = { ...PAYMENT, state: 'SEEN', confirmations: 0, firstSeenAt: 100n, creditedAt: null };
  const credited = (creditedAt: bigint, usdMicro = 600n * USD): Payment => ({ ...PAYMENT, creditedAt, usdMicro });
  const stateOf = (now: bigint, ...others: Payment[]) =>
    withoutReplaced(TOP_UP, [SEEN, ...others], now).map(({ state }) => state)[0];

  it.each<[string, bigint, Payment[], string]>([
    ['is shown for a day', 100n + 86_399n, [], 'SEEN'],
    ['is gone after a day', 100n + 86_400n, [], 'GONE'],
    ['is gone if everything was paid in the same second', 200n, [credited(100n)], 'GONE'],
    ['is gone if everything was paid after it', 200n, [credited(150n)], 'GONE'],
    ['is shown if everything was paid before it', 200n, [credited(99n)], 'SEEN'],
    ['is shown if only a part was paid after it', 200n, [credited(150n, 594n * USD - 1n)], 'SEEN'],
    ['is gone if parts add up to everything', 200n, [credited(150n, 300n * USD), credited(90n, 294n * USD)], 'GONE'],
    ['is shown if everything was paid before it and again after it', 200n, [credited(150n), credited(99n)], 'SEEN'],
    ['is shown if another payment was refused', 200n, [{ ...credited(150n), state: 'REFUSED' }], 'SEEN'],
  ])('%s', (_name, now, others, state) => {
    expect(stateOf(now, ...others)).toBe(state);
  });

  it('is marked as gone with a reason, unlike a payment in a block', () => {
    const confirming: Payment = { ...SEEN, state: 'CONFIRMING' };
    const reason = 'no block included it';
    expect(withoutReplaced(TOP_UP, [SEEN, confirming], 1_000_000n)).toEqual([
      { ...SEEN, state: 'GONE', reason },
      confirming,
    ]);
  });
});
