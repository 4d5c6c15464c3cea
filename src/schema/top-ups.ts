import type { KernelDeps } from '../domain/kernel/deps.js';
import { check } from '../domain/kernel/field.js';
import { commonFields } from '../domain/kernel/fields.js';
import { createTopUp, topUpAssets } from '../domain/top-ups/create-top-up.js';
import { topUpFields } from '../domain/top-ups/fields.js';
import { confirmationsOf, creditedMicro, MIN_TOP_UP_MICRO, type Payment } from '../domain/top-ups/rules/top-up.js';
import { ASSETS, type AssetCode } from '../domain/top-ups/rules/top-up-assets.js';
import type { PaidTopUp } from '../domain/top-ups/top-up-rows.js';
import { findTopUp, listTopUps } from '../domain/top-ups/top-ups.js';
import { topUpChanges } from '../domain/updates/change-streams.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { Node } from './node.js';

const DEFAULT_TOP_UPS = 25;

const TopUpState = builder.enumType('TopUpState', {
  description: 'State of a top-up, derived from its payments.',
  values: {
    WAITING: { description: 'No payment yet.' },
    SEEN: { description: 'A payment was seen that is not in a block yet. Nothing is credited.' },
    CONFIRMING: { description: 'A payment is not final yet. It is not credited.' },
    CREDITED: { description: 'Exactly the requested amount is credited.' },
    UNDERPAID: { description: 'Less than the requested amount is credited.' },
    OVERPAID: { description: 'More than the requested amount is credited.' },
    EXPIRED: { description: 'Nothing was paid before the rate expired. A late payment is still credited.' },
    LATE: { description: "A payment that arrived after the rate expired is credited, at the processor's rate." },
    QUARANTINED: { description: "A payment waits for the operator's decision." },
  },
});

const PaymentState = builder.enumType('PaymentState', {
  description: 'State of one transaction.',
  values: {
    SEEN: { description: 'Not in a block yet.' },
    CONFIRMING: { description: 'Not final yet.' },
    QUARANTINED: { description: 'Quarantined until the operator decides.' },
    CREDITED: { description: 'Credited.' },
    REFUSED: { description: 'Refused by the operator.' },
    REVERSED: { description: 'Credited, then reversed by the operator.' },
    GONE: { description: 'Never included in a block, or dropped by its network before it was credited.' },
  },
});

const TopUpPayment = builder.objectRef<Payment>('TopUpPayment').implement({
  description: 'One transaction that pays a top-up.',
  fields: (t) => ({
    transaction: t.exposeString('transaction', { description: 'Transaction id on its network.' }),
    state: t.expose('state', { type: PaymentState, description: 'State of the transaction.' }),
    amount: t.exposeString('coins', { description: 'Amount received, in coins, as decimal text.' }),
    usd: t.expose('usdMicro', {
      type: 'USD',
      nullable: true,
      description: 'Amount credited, rounded down; null until the processor reports it.',
    }),
    confirmations: t.exposeInt('confirmations', { description: 'Minimum confirmations it is known to have.' }),
    seenAt: t.expose('firstSeenAt', {
      type: 'DateTime',
      description: 'Time at which the gateway first received notice of it.',
    }),
    creditedAt: t.expose('creditedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time at which it was credited; null until then.',
    }),
  }),
});

const TopUpAsset = builder.objectRef<{ code: AssetCode }>('TopUpAsset').implement({
  description: 'A coin, on a specific network, accepted as payment.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'Asset code to pass to createTopUp.' }),
    coin: t.string({ description: 'The coin.', resolve: ({ code }) => ASSETS[code].coin }),
    network: t.string({
      description: 'Network on which it must be sent.',
      resolve: ({ code }) => ASSETS[code].network,
    }),
    confirmations: t.int({
      description: 'Confirmations after which a payment is final.',
      resolve: ({ code }, _args, { deps }) => needed(deps, code),
    }),
    minimum: t.field({ type: 'USD', description: 'Smallest top-up.', resolve: () => MIN_TOP_UP_MICRO }),
  }),
});

export const TopUpType = builder.objectRef<PaidTopUp>('TopUp').implement({
  interfaces: [Node],
  description:
    'Credit to be paid in cryptocurrency. Each final payment is credited once, even if it differs from the requested amount.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`t-` and 20 hex characters.' }),
    state: t.expose('state', { type: TopUpState, description: 'State, derived from its payments.' }),
    asset: t.exposeString('asset', { description: 'The asset to pay with.' }),
    coin: t.string({ description: 'The coin to send.', resolve: ({ asset }) => ASSETS[asset].coin }),
    network: t.string({
      description: 'Network on which to send it. Coins sent on another network may be lost.',
      resolve: ({ asset }) => ASSETS[asset].network,
    }),
    usd: t.expose('usdMicro', { type: 'USD', description: 'Requested amount.' }),
    credited: t.field({
      type: 'USD',
      description: 'Amount credited so far.',
      resolve: (topUp) => creditedMicro(topUp.payments),
    }),
    address: t.exposeString('address', {
      description: 'Address to which to send the coins. It belongs to this top-up only.',
    }),
    amount: t.exposeString('amount', { description: 'Coins to send, as decimal text.' }),
    rate: t.exposeString('rate', { description: "The processor's rate in USD per coin, as decimal text." }),
    uri: t.string({
      description: 'Payment URI for a QR code that wallets open; only the address if there is no common URI format.',
      resolve: ({ asset, address, amount }) => ASSETS[asset].uri(address, amount),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of creation.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Time until which the rate is guaranteed.' }),
    confirmations: t.int({
      nullable: true,
      description: 'Minimum confirmations over its pending payments; null if none is pending.',
      resolve: ({ payments }) => confirmationsOf(payments),
    }),
    confirmationsNeeded: t.int({
      description: 'Confirmations after which a payment is final.',
      resolve: ({ asset }, _args, { deps }) => needed(deps, asset),
    }),
    payments: t.field({
      type: [TopUpPayment],
      description: 'Payments, oldest first.',
      resolve: ({ payments }) => payments,
    }),
  }),
});

function needed({ settings }: Pick<KernelDeps, 'settings'>, asset: AssetCode): number {
  return settings.topUpConfirmations[asset];
}

const CreateTopUpInput = builder.inputType('CreateTopUpInput', {
  description: 'The top-up to create.',
  fields: (t) => ({
    asset: t.string({ required: true, ...fromField(topUpFields.topUpAsset) }),
    usd: t.field({ type: 'USD', required: true, description: 'Requested credit, from 5 to 100000 USD.' }),
    idempotencyKey: t.string(fromField(commonFields.idempotencyKey)),
  }),
});

builder.queryFields((t) => ({
  topUpAssets: t.field({
    type: [TopUpAsset],
    ...NEEDS_KEY,
    nullable: true,
    description: 'Assets accepted now; empty if the operator has not set up a payment processor. Needs an API key.',
    resolve: async (_root, _args, context) => {
      accountOf(context);
      return (await topUpAssets(context.deps)).map((code) => ({ code }));
    },
  }),
  topUps: t.field({
    type: [TopUpType],
    ...NEEDS_KEY,
    nullable: true,
    description: "The account's top-ups, newest first. Needs an API key.",
    args: { limit: t.arg.int({ ...fromField(topUpFields.topUps), defaultValue: DEFAULT_TOP_UPS }) },
    resolve: (_root, { limit }, context) =>
      listTopUps(context.deps, accountOf(context), check('limit', topUpFields.topUps, limit ?? DEFAULT_TOP_UPS)),
  }),
  topUp: t.field({
    type: TopUpType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'One top-up; null when the account has no such top-up. Needs an API key.',
    args: { id: t.arg.id({ required: true, ...fromField(topUpFields.topUpId) }) },
    resolve: (_root, { id }, context) => findTopUp(context.deps, accountOf(context), id),
  }),
}));

builder.mutationFields((t) => ({
  createTopUp: t.field({
    type: TopUpType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Returns an address and an exact amount to pay. Credit is added once a payment is final.',
    args: { input: t.arg({ type: CreateTopUpInput, required: true, description: 'The top-up to create.' }) },
    resolve: async (_root, { input }, context) => {
      const { topUp, replayed } = await createTopUp(context.deps, accountOf(context), input);
      if (replayed) context.onReplayed();
      return topUp;
    },
  }),
}));

builder.subscriptionFields((t) => ({
  topUpChanged: t.field({
    type: TopUpType,
    ...NEEDS_KEY,
    description:
      "Every change of the account's top-ups: a payment is seen, confirming, credited or quarantined. With an id, the current state is sent first. Needs an API key.",
    args: { id: t.arg.id({ description: 'Only this top-up.', extensions: { field: topUpFields.topUpId } }) },
    subscribe: (_root, { id }, context) =>
      topUpChanges(context.deps, callerOf(context), id ?? null, context.untilGone()),
    resolve: (topUp) => topUp,
  }),
}));
