import {
  DEFAULT_LISTED,
  type InstanceSpend,
  MAX_SPEND_DAYS,
  type NameSpend,
  type SpendByDay,
  type SpendDay,
  spendByDay,
} from '../domain/billing/spend-by-day.js';
import { commonFields } from '../domain/kernel/fields.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';
import { InstanceStatus } from './instances.js';
import { PricingMode } from './pricing.js';

const SpendShare = builder.objectRef<SpendDay['instances'][number]>('SpendShare').implement({
  description: 'Spend on one instance on one day.',
  fields: (t) => ({
    instanceId: t.exposeID('instanceId', { description: 'Instance id.' }),
    amount: t.expose('amount', { type: 'USD', description: 'GPUs, disk and early exit together.' }),
  }),
});

const SpendDayType = builder.objectRef<SpendDay>('SpendDay').implement({
  description: 'Spend of one UTC day.',
  fields: (t) => ({
    date: t.expose('date', { type: 'Date', description: 'The day.' }),
    total: t.expose('total', { type: 'USD', description: 'Total of the day.' }),
    instances: t.expose('instances', {
      type: [SpendShare],
      description:
        'Spend by instance, in the order of SpendByDay.instances. Instances without spend on that day are omitted.',
    }),
    others: t.expose('others', { type: 'USD', description: 'Spend on all other instances and on volumes.' }),
    volumes: t.expose('volumes', { type: 'USD', description: 'Part of others spent on volumes.' }),
  }),
});

const InstanceSpendType = builder.objectRef<InstanceSpend>('InstanceSpend').implement({
  description: 'Spend on one instance within the period.',
  fields: (t) => ({
    instanceId: t.exposeID('instanceId', { description: 'Instance id.' }),
    name: t.exposeString('name', { description: 'Name given by its launch; by default its id.' }),
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    numGpus: t.exposeInt('numGpus', { description: 'Number of GPUs in the machine.' }),
    region: t.exposeString('region', { description: 'Region code.' }),
    template: t.exposeString('template', { description: 'Template slug or OCI image reference.' }),
    mode: t.expose('mode', { type: PricingMode, description: 'Pricing mode.' }),
    status: t.expose('status', { type: InstanceStatus, description: 'State of the instance.' }),
    amount: t.expose('amount', { type: 'USD', description: 'Total of its days.' }),
  }),
});

const ModelSpendType = builder.objectRef<SpendByDay['models'][number]>('ModelSpend').implement({
  description: 'Spend on all instances of one GPU model.',
  fields: (t) => ({
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    amount: t.expose('amount', { type: 'USD', description: 'GPUs, disks and early exits together.' }),
  }),
});

const NameSpendType = builder.objectRef<NameSpend>('NameSpend').implement({
  description: 'Spend on all instances with one name.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name given by launches; the id of an instance without one.' }),
    instances: t.exposeInt('instances', { description: 'Number of instances with the name.' }),
    amount: t.expose('amount', { type: 'USD', description: 'GPUs, disks and early exits together.' }),
  }),
});

const SpendByDayType = builder.objectRef<SpendByDay>('SpendByDay').implement({
  description:
    'Spend in a period of UTC days. All amounts add up, by day and by instance: each is the difference between the rounded totals after and before it.',
  fields: (t) => ({
    from: t.expose('from', { type: 'Date', description: 'First day.' }),
    to: t.expose('to', { type: 'Date', description: 'Last day; never in the future.' }),
    currency: t.string({ description: 'Always USD.', resolve: () => 'USD' }),
    total: t.expose('total', { type: 'USD', description: 'Total of the days.' }),
    days: t.expose('days', { type: [SpendDayType], description: 'Every day of the period, oldest first.' }),
    instances: t.expose('instances', {
      type: [InstanceSpendType],
      description: 'Instances with the highest spend, in descending order.',
    }),
    others: t.expose('others', { type: 'USD', description: 'Spend on all other instances and on volumes.' }),
    volumes: t.expose('volumes', { type: 'USD', description: 'Part of others spent on volumes.' }),
    models: t.expose('models', {
      type: [ModelSpendType],
      description:
        'Spend on all instances by GPU model, in descending order. Together with volumes they add up to the total.',
    }),
    names: t.expose('names', {
      type: [NameSpendType],
      description: 'Names with the highest spend, in descending order; as many as the instances listed.',
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second up to which today is counted.' }),
  }),
});

builder.queryFields((t) => ({
  spendByDay: t.field({
    type: SpendByDayType,
    ...NEEDS_KEY,
    nullable: true,
    description: `Spend by UTC day and by instance, for at most ${MAX_SPEND_DAYS} days. The days of a month add up to its spend. Needs an API key.`,
    args: {
      from: t.arg({ type: 'Date', required: true, description: 'First day.' }),
      to: t.arg({ type: 'Date', description: 'Last day. By default, and if it is in the future, today.' }),
      limit: t.arg.int({
        ...fromField({
          ...commonFields.limit,
          description: 'Maximum number of instances listed; the others are combined.',
        }),
        defaultValue: DEFAULT_LISTED,
      }),
    },
    resolve: (_root, args, context) => spendByDay(context.deps, accountOf(context), args),
  }),
}));
