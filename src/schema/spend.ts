import {
  DEFAULT_NAMED,
  type InstanceSpend,
  MAX_SPEND_DAYS,
  type NameSpend,
  type SpendByDay,
  type SpendDay,
  spendByDay,
} from '../domain/billing/spend-by-day.js';
import { fields } from '../domain/fields.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';
import { InstanceStatus } from './instances.js';
import { PricingMode } from './pricing.js';

const SpendShare = builder.objectRef<SpendDay['instances'][number]>('SpendShare').implement({
  description: 'What was spent on one instance on one day.',
  fields: (t) => ({
    instanceId: t.exposeID('instanceId', { description: 'Instance id.' }),
    amount: t.expose('amount', { type: 'USD', description: 'GPU, disk and early exit together.' }),
  }),
});

const SpendDayType = builder.objectRef<SpendDay>('SpendDay').implement({
  description: 'The spend of one UTC day.',
  fields: (t) => ({
    date: t.expose('date', { type: 'Date', description: 'The day.' }),
    total: t.expose('total', { type: 'USD', description: 'The sum of the day.' }),
    instances: t.expose('instances', {
      type: [SpendShare],
      description: 'By instance, in the order of SpendByDay.instances; those without spend that day are left out.',
    }),
    others: t.expose('others', { type: 'USD', description: 'Spent on all other instances, and on volumes.' }),
    volumes: t.expose('volumes', { type: 'USD', description: 'Of others: spent on volumes.' }),
  }),
});

const InstanceSpendType = builder.objectRef<InstanceSpend>('InstanceSpend').implement({
  description: 'What was spent on one instance within the period.',
  fields: (t) => ({
    instanceId: t.exposeID('instanceId', { description: 'Instance id.' }),
    name: t.exposeString('name', { description: 'The name that its launch gave; its id without one.' }),
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs of the machine.' }),
    region: t.exposeString('region', { description: 'Region code.' }),
    template: t.exposeString('template', { description: 'Template slug or OCI image reference.' }),
    mode: t.expose('mode', { type: PricingMode, description: 'How it is priced.' }),
    status: t.expose('status', { type: InstanceStatus, description: 'State.' }),
    amount: t.expose('amount', { type: 'USD', description: 'The sum of its days.' }),
  }),
});

const ModelSpendType = builder.objectRef<SpendByDay['models'][number]>('ModelSpend').implement({
  description: 'What was spent on all instances of one GPU model.',
  fields: (t) => ({
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    amount: t.expose('amount', { type: 'USD', description: 'GPUs, disks and early exits together.' }),
  }),
});

const NameSpendType = builder.objectRef<NameSpend>('NameSpend').implement({
  description: 'What was spent on all instances of one name.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name that launches gave; the id of an instance without one.' }),
    instances: t.exposeInt('instances', { description: 'How many instances had it.' }),
    amount: t.expose('amount', { type: 'USD', description: 'GPUs, disks and early exits together.' }),
  }),
});

const SpendByDayType = builder.objectRef<SpendByDay>('SpendByDay').implement({
  description:
    'What was spent in a period of UTC days. All amounts add up, by day and by instance: each is the rounded total after it less the rounded total before it.',
  fields: (t) => ({
    from: t.expose('from', { type: 'Date', description: 'First day.' }),
    to: t.expose('to', { type: 'Date', description: 'Last day; never in the future.' }),
    currency: t.string({ description: 'Always USD.', resolve: () => 'USD' }),
    total: t.expose('total', { type: 'USD', description: 'The sum of the days.' }),
    days: t.expose('days', { type: [SpendDayType], description: 'Every day of the period, oldest first.' }),
    instances: t.expose('instances', {
      type: [InstanceSpendType],
      description: 'The instances that most was spent on, the greatest first.',
    }),
    others: t.expose('others', { type: 'USD', description: 'Spent on all other instances, and on volumes.' }),
    volumes: t.expose('volumes', { type: 'USD', description: 'Of others: spent on volumes.' }),
    models: t.expose('models', {
      type: [ModelSpendType],
      description: 'Of all instances by GPU model, the greatest first. With volumes they add up to the total.',
    }),
    names: t.expose('names', {
      type: [NameSpendType],
      description: 'The names that most was spent on, the greatest first; as many as instances are named.',
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second up to which today is counted.' }),
  }),
});

builder.queryFields((t) => ({
  spendByDay: t.field({
    type: SpendByDayType,
    ...NEEDS_KEY,
    nullable: true,
    description: `Spend by UTC day and by instance, of ${MAX_SPEND_DAYS} days at most. The days of a month add up to its spend. Needs an API key.`,
    args: {
      from: t.arg({ type: 'Date', required: true, description: 'First day.' }),
      to: t.arg({ type: 'Date', description: 'Last day. By default, and if it is in the future, today.' }),
      limit: t.arg.int({
        ...fromField({ ...fields.limit, description: 'Maximum number of instances named; the rest is one sum.' }),
        defaultValue: DEFAULT_NAMED,
      }),
    },
    resolve: (_root, args, context) => spendByDay(context.deps, accountOf(context), args),
  }),
}));
