import { type Statement, type StatementLine, type StatementMovement, statement } from '../domain/billing/statement.js';
import { PREEMPTION_MINIMUM_SECONDS } from '../domain/rules/preemption.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';

/** Most lines in one answer; the operator's command has no such bound. */
const MAX_LINES = 5_000;

const StatementLineKind = builder.enumType('StatementLineKind', {
  description: 'What a line charges.',
  values: {
    GPU: { description: 'Seconds that the machine ran.' },
    DISK: { description: 'Seconds that the disk existed.' },
    EARLY_EXIT: { description: 'The discount returned for leaving a reserved term early.' },
    VOLUME: { description: 'Seconds that a volume had one size.' },
    PREEMPTION_MINIMUM: {
      description: `What was left of ${PREEMPTION_MINIMUM_SECONDS} GPU seconds when a start that sent another instance away ended.`,
    },
  },
});

const StatementMovementKind = builder.enumType('StatementMovementKind', {
  description: 'How money moved other than by usage.',
  values: {
    CREDIT: { description: 'A payment.' },
    ADJUSTMENT: { description: "The operator's correction." },
    SERVICE_CREDIT: { description: 'Charges given back, for what was not delivered.' },
  },
});

const Line = builder.objectRef<StatementLine>('StatementLine').implement({
  description: 'What one instance or volume was charged for one kind of usage within the period.',
  fields: (t) => ({
    instanceId: t.exposeID('instanceId', { nullable: true, description: 'Instance id; null of a volume.' }),
    volumeId: t.exposeID('volumeId', { nullable: true, description: 'Volume id; null of an instance.' }),
    kind: t.expose('kind', { type: StatementLineKind, description: 'What is charged.' }),
    seconds: t.int({ description: 'Seconds billed.', resolve: ({ seconds }) => Number(seconds) }),
    from: t.expose('from', {
      type: 'DateTime',
      description:
        'The first second billed within the period; of an early exit or a minimum, when it was first booked.',
    }),
    to: t.expose('to', {
      type: 'DateTime',
      description:
        'The end of the last second billed within the period, exclusive; of an early exit or a minimum, when it was last booked.',
    }),
    ratePerHour: t.expose('rate', { type: 'USD', description: 'Locked rate in USD per hour.' }),
    amount: t.expose('amount', {
      type: 'USD',
      description: 'The rounded total after this line minus the rounded total before it.',
    }),
    units: t.string({
      description: 'The exact charge in 1/3600 micro-USD: rate in micro-USD × seconds.',
      resolve: ({ units }) => units.toString(),
    }),
  }),
});

const Movement = builder.objectRef<StatementMovement>('StatementMovement').implement({
  description: 'A credit, an adjustment or a service credit.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Ledger entry id.' }),
    kind: t.expose('kind', { type: StatementMovementKind, description: 'How it moved.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it was booked.' }),
    amount: t.expose('amount', { type: 'USD', description: 'USD; negative when money was taken.' }),
    instanceId: t.exposeID('instanceId', {
      nullable: true,
      description: 'The instance whose charges a service credit gives back.',
    }),
    reference: t.exposeString('reference', { nullable: true, description: 'The reference of the payment.' }),
    note: t.exposeString('note', { nullable: true, description: 'The reason.' }),
  }),
});

const StatementType = builder.objectRef<Statement>('Statement').implement({
  description: 'Opening balance + movements − lines = closing balance, to the last micro-USD.',
  fields: (t) => ({
    from: t.expose('from', { type: 'DateTime', description: 'First second of the period.' }),
    to: t.expose('to', {
      type: 'DateTime',
      description: 'End of the period, exclusive; never in the future.',
    }),
    currency: t.string({ description: 'Always USD.', resolve: () => 'USD' }),
    openingBalance: t.expose('openingBalance', { type: 'USD', description: 'Balance at from.' }),
    closingBalance: t.expose('closingBalance', { type: 'USD', description: 'Balance at to.' }),
    movements: t.expose('movements', {
      type: [Movement],
      description: 'Credits and adjustments in chronological order.',
    }),
    lines: t.expose('lines', {
      type: [Line],
      description: 'Charges, by instance: GPU, disk, early exit, minimum; then by volume and size.',
    }),
  }),
});

builder.queryFields((t) => ({
  statement: t.field({
    type: StatementType,
    nullable: true,
    ...NEEDS_KEY,
    description: `What changed the balance within a period, line by line; at most ${MAX_LINES} lines. Needs an API key.`,
    args: {
      from: t.arg({ type: 'DateTime', required: true, description: 'First second of the period.' }),
      to: t.arg({
        type: 'DateTime',
        description: 'End of the period, exclusive. By default, and if it is in the future, now.',
      }),
    },
    resolve: (_root, { from, to }, context) =>
      statement(context.deps, accountOf(context), { from, to: to ?? null }, MAX_LINES),
  }),
}));
