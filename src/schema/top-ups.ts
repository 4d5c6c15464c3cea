import type { Deps } from '../domain/deps.js';
import { check, fields } from '../domain/fields.js';
import { confirmationsOf, creditedMicro, MIN_TOP_UP_MICRO, type Payment } from '../domain/rules/top-up.js';
import { ASSETS, type AssetCode } from '../domain/rules/top-up-assets.js';
import { createTopUp, topUpAssets } from '../domain/top-ups/create-top-up.js';
import type { PaidTopUp } from '../domain/top-ups/top-up-rows.js';
import { findTopUp, listTopUps } from '../domain/top-ups/top-ups.js';
import { topUpChanges } from '../domain/updates/change-streams.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { Node } from './node.js';

const DEFAULT_TOP_UPS = 25;

const TopUpState = builder.enumType('TopUpState', {
  description: 'What its payments make of a top-up.',
  values: {
    WAITING: { description: 'Nothing was paid yet.' },
    SEEN: { description: 'A payment was seen that no block holds yet. Nothing is credited.' },
    CONFIRMING: { description: 'A payment is not final yet. It is not credited.' },
    CREDITED: { description: 'What was asked for is credited.' },
    UNDERPAID: { description: 'Less than what was asked for is credited.' },
    OVERPAID: { description: 'More than what was asked for is credited.' },
    EXPIRED: { description: 'Nothing was paid while the rate held. What comes late is credited all the same.' },
    LATE: { description: 'A payment that came after the rate had held is credited, at the rate of the processor.' },
    QUARANTINED: { description: "A payment waits for the operator's decision." },
  },
});

const PaymentState = builder.enumType('PaymentState', {
  description: 'How far one transaction is.',
  values: {
    SEEN: { description: 'No block holds it yet.' },
    CONFIRMING: { description: 'Not final yet.' },
    QUARANTINED: { description: "Kept aside for the operator's decision." },
    CREDITED: { description: 'Credited.' },
    REFUSED: { description: 'Refused by the operator.' },
    REVERSED: { description: 'Was credited and taken back by the operator.' },
    GONE: { description: 'No block took it, or its network took it back before it was credited.' },
  },
});

const TopUpPayment = builder.objectRef<Payment>('TopUpPayment').implement({
  description: 'One transaction that pays a top-up.',
  fields: (t) => ({
    transaction: t.exposeString('transaction', { description: 'As its network names it.' }),
    state: t.expose('state', { type: PaymentState, description: 'How far it is.' }),
    amount: t.exposeString('coins', { description: 'Coins that arrived, as decimal text.' }),
    usd: t.expose('usdMicro', {
      type: 'USD',
      nullable: true,
      description: 'What is credited for it, rounded down; null while the processor has not said.',
    }),
    confirmations: t.exposeInt('confirmations', { description: 'Confirmations that it has at least.' }),
    seenAt: t.expose('firstSeenAt', { type: 'DateTime', description: 'When the gateway first heard of it.' }),
    creditedAt: t.expose('creditedAt', { type: 'DateTime', nullable: true, description: 'Null until credited.' }),
  }),
});

const TopUpAsset = builder.objectRef<{ code: AssetCode }>('TopUpAsset').implement({
  description: 'A coin on a network that can be paid with.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'What createTopUp takes.' }),
    coin: t.string({ description: 'The coin.', resolve: ({ code }) => ASSETS[code].coin }),
    network: t.string({
      description: 'The network it has to be sent on.',
      resolve: ({ code }) => ASSETS[code].network,
    }),
    confirmations: t.int({
      description: 'Confirmations from which a payment is final.',
      resolve: ({ code }, _args, { deps }) => needed(deps, code),
    }),
    minimum: t.field({ type: 'USD', description: 'The smallest top-up.', resolve: () => MIN_TOP_UP_MICRO }),
  }),
});

export const TopUpType = builder.objectRef<PaidTopUp>('TopUp').implement({
  interfaces: [Node],
  description:
    'Credit to be paid in cryptocurrency. Each payment that is final is credited once, whatever was asked for.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`t-` and 20 hex characters.' }),
    state: t.expose('state', { type: TopUpState, description: 'What its payments make of it.' }),
    asset: t.exposeString('asset', { description: 'The asset to pay with.' }),
    coin: t.string({ description: 'The coin to send.', resolve: ({ asset }) => ASSETS[asset].coin }),
    network: t.string({
      description: 'The network to send it on. What is sent on another may be lost.',
      resolve: ({ asset }) => ASSETS[asset].network,
    }),
    usd: t.expose('usdMicro', { type: 'USD', description: 'What was asked for.' }),
    credited: t.field({
      type: 'USD',
      description: 'What is credited for it so far.',
      resolve: (topUp) => creditedMicro(topUp.payments),
    }),
    address: t.exposeString('address', { description: 'Where to send the coins, of this top-up alone.' }),
    amount: t.exposeString('amount', { description: 'Coins to send, as decimal text.' }),
    rate: t.exposeString('rate', { description: "USD per coin, the processor's, as decimal text." }),
    uri: t.string({
      description:
        'The payment for a QR code: what a wallet opens, or the bare address where wallets agree on no more.',
      resolve: ({ asset, address, amount }) => ASSETS[asset].uri(address, amount),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when the rate is promised.' }),
    confirmations: t.int({
      nullable: true,
      description: 'Confirmations of the payment that has fewest, at least; null while none is under way.',
      resolve: ({ payments }) => confirmationsOf(payments),
    }),
    confirmationsNeeded: t.int({
      description: 'Confirmations from which a payment is final.',
      resolve: ({ asset }, _args, { deps }) => needed(deps, asset),
    }),
    payments: t.field({
      type: [TopUpPayment],
      description: 'What was paid, oldest first.',
      resolve: ({ payments }) => payments,
    }),
  }),
});

function needed({ settings }: Deps, asset: AssetCode): number {
  return settings.topUpConfirmations[asset];
}

const CreateTopUpInput = builder.inputType('CreateTopUpInput', {
  description: 'What to pay.',
  fields: (t) => ({
    asset: t.string({ required: true, ...fromField(fields.topUpAsset) }),
    usd: t.field({ type: 'USD', required: true, description: 'Credit wanted, from 5 to 100000 USD.' }),
    idempotencyKey: t.string(fromField(fields.idempotencyKey)),
  }),
});

builder.queryFields((t) => ({
  topUpAssets: t.field({
    type: [TopUpAsset],
    ...NEEDS_KEY,
    nullable: true,
    description:
      'What can be paid with now; empty where the operator has set up no payment processor. Needs an API key.',
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
    args: { limit: t.arg.int({ ...fromField(fields.topUps), defaultValue: DEFAULT_TOP_UPS }) },
    resolve: (_root, { limit }, context) =>
      listTopUps(context.deps, accountOf(context), check('limit', fields.topUps, limit ?? DEFAULT_TOP_UPS)),
  }),
  topUp: t.field({
    type: TopUpType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'One top-up; null when the account has no such top-up. Needs an API key.',
    args: { id: t.arg.id({ required: true, ...fromField(fields.topUpId) }) },
    resolve: (_root, { id }, context) => findTopUp(context.deps, accountOf(context), id),
  }),
}));

builder.mutationFields((t) => ({
  createTopUp: t.field({
    type: TopUpType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Gives an address and an exact amount to pay. Credit follows once a payment is final.',
    args: { input: t.arg({ type: CreateTopUpInput, required: true, description: 'What to pay.' }) },
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
      "Each change of the account's top-ups: a payment seen, confirming, credited or kept aside. Of one that is named, its state now comes first. Needs an API key.",
    args: { id: t.arg.id({ description: 'This top-up alone.', extensions: { field: fields.topUpId } }) },
    subscribe: (_root, { id }, context) =>
      topUpChanges(context.deps, callerOf(context), id ?? null, context.untilGone()),
    resolve: (topUp) => topUp,
  }),
}));
