import { billingFields } from '../domain/billing/fields.js';
import { focusExport } from '../domain/billing/focus.js';
import { type Statement, type StatementLine, type StatementMovement, statement } from '../domain/billing/statement.js';
import { PREEMPTION_MINIMUM_SECONDS } from '../domain/kernel/preemption.js';
import { signedStatement } from '../domain/proof/signed-statement.js';
import { builder, fromField, NEEDS_KEY, ofSize } from './builder.js';
import { accountOf } from './context.js';

/** Maximum number of lines in a response. The operator command has no such limit. */
export const MAX_LINES = 5_000;

/** Marks a month's document, which needs an API key. A request can get the documents of a whole year. */
export const MONTH_DOCUMENT = { extensions: { ...NEEDS_KEY.extensions, ...ofSize(4_000).extensions } };

/** The month of a document. */
export const MONTH = { required: true, ...fromField(billingFields.month) } as const;

const StatementLineKind = builder.enumType('StatementLineKind', {
  description: 'Kind of charge in a line.',
  values: {
    GPU: { description: 'Seconds in which the machine was running.' },
    DISK: { description: 'Seconds in which the disk existed.' },
    EARLY_EXIT: { description: 'Discount repaid for leaving a reserved term early.' },
    VOLUME: { description: 'Seconds in which a volume had one size.' },
    PREEMPTION_MINIMUM: {
      description: `Rest of the first ${PREEMPTION_MINIMUM_SECONDS} GPU seconds after a start that preempted another instance and ended earlier.`,
    },
  },
});

const StatementMovementKind = builder.enumType('StatementMovementKind', {
  description: 'Kind of a balance change other than usage.',
  values: {
    CREDIT: { description: 'A payment.' },
    ADJUSTMENT: { description: 'A correction by the operator.' },
    SERVICE_CREDIT: { description: 'Refund of charges for undelivered service.' },
  },
});

const Line = builder.objectRef<StatementLine>('StatementLine').implement({
  description: 'Charges of one instance or volume for one kind of usage within the period.',
  fields: (t) => ({
    instanceId: t.exposeID('instanceId', { nullable: true, description: 'Instance id; null for a volume.' }),
    volumeId: t.exposeID('volumeId', { nullable: true, description: 'Volume id; null for an instance.' }),
    kind: t.expose('kind', { type: StatementLineKind, description: 'Kind of charge.' }),
    seconds: t.int({ description: 'Seconds billed.', resolve: ({ seconds }) => Number(seconds) }),
    from: t.expose('from', {
      type: 'DateTime',
      description: 'First billed second within the period. For an early exit or a minimum: when it was first booked.',
    }),
    to: t.expose('to', {
      type: 'DateTime',
      description:
        'End of the last billed second within the period, exclusive. For an early exit or a minimum: when it was last booked.',
    }),
    ratePerHour: t.expose('rate', { type: 'USD', description: 'Locked rate in USD per hour.' }),
    amount: t.expose('amount', {
      type: 'USD',
      description: 'Rounded total after this line minus the rounded total before it.',
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
    kind: t.expose('kind', { type: StatementMovementKind, description: 'Kind of movement.' }),
    at: t.expose('at', { type: 'DateTime', description: 'Time of booking.' }),
    amount: t.expose('amount', { type: 'USD', description: 'Amount in USD; negative for a debit.' }),
    instanceId: t.exposeID('instanceId', {
      nullable: true,
      description: 'The instance whose charges a service credit refunds.',
    }),
    reference: t.exposeString('reference', { nullable: true, description: 'Reference of the payment.' }),
    note: t.exposeString('note', { nullable: true, description: 'Reason for the movement.' }),
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
      description: 'Credits, adjustments and service credits in chronological order.',
    }),
    lines: t.expose('lines', {
      type: [Line],
      description: 'Charges by instance: GPU, disk, early exit, minimum; then by volume and size.',
    }),
  }),
});

builder.queryFields((t) => ({
  statement: t.field({
    type: StatementType,
    nullable: true,
    ...NEEDS_KEY,
    description: `All changes of the balance within a period, line by line; at most ${MAX_LINES} lines. Needs an API key.`,
    args: {
      from: t.arg({ type: 'DateTime', required: true, description: 'First second of the period.' }),
      to: t.arg({
        type: 'DateTime',
        description: 'End of the period, exclusive. By default, or if it is in the future, now.',
      }),
    },
    resolve: (_root, { from, to }, context) =>
      statement(context.deps, accountOf(context), { from, to: to ?? null }, MAX_LINES),
  }),
  signedStatement: t.field({
    type: 'Json',
    nullable: true,
    ...MONTH_DOCUMENT,
    description: `The signed statement of a UTC month (\`gpu-rental/statement/v1\`), which proves each line and their sum; at most ${MAX_LINES} lines. The current month ends when the statement is issued. Needs an API key.`,
    args: { month: t.arg.string(MONTH) },
    resolve: (_root, { month }, context) => signedStatement(context.deps, accountOf(context), month, MAX_LINES),
  }),
  focusExport: t.string({
    nullable: true,
    ...MONTH_DOCUMENT,
    description: `The cost of a UTC month as CSV in FOCUS 1.2, by resource and day; at most ${MAX_LINES} charges. Needs an API key.`,
    args: { month: t.arg.string(MONTH) },
    resolve: (_root, { month }, context) => focusExport(context.deps, accountOf(context), month, MAX_LINES),
  }),
}));
