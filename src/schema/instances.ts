import { formatPrismaCursor, prismaConnectionHelpers, queryFromInfo } from '@pothos/plugin-prisma';
import { asOfNow } from '../domain/instances/as-of.js';
import { type StartCheck, startCheck } from '../domain/instances/can-start.js';
import { instanceFields } from '../domain/instances/fields.js';
import { instanceHistory, MAX_ROWS_SCANNED } from '../domain/instances/instance-history.js';
import {
  act,
  activeInstances,
  changeDeadlines,
  deploy,
  earlyExitCostOf,
  findInstance,
  type InstanceRow,
  instanceByIdempotencyKey,
  type Outcome,
  reservedUntilOf,
  type Usage,
  usageOf,
} from '../domain/instances/instances.js';
import { changeLabels } from '../domain/instances/labels.js';
import { launchOf } from '../domain/instances/launch.js';
import { changeSpendLimit, limitReachedAtOf } from '../domain/instances/spend-limits.js';
import { changeStopWhenIdle } from '../domain/instances/stop-when-idle.js';
import type { KernelDeps } from '../domain/kernel/deps.js';
import { commonFields } from '../domain/kernel/fields.js';
import type { Labels, StopReason as Reason } from '../domain/kernel/lifecycle.js';
import { PREEMPTION_MINIMUM_SECONDS } from '../domain/kernel/preemption.js';
import { type Instant, secondOf } from '../domain/kernel/time.js';
import { instanceChanges } from '../domain/updates/change-streams.js';
import { required } from '../std/required.js';
import { builder, fromField, NEEDS_KEY, renamedTo } from './builder.js';
import { accountOf, callerOf, type GatewayContext } from './context.js';
import { accountForRental, LaunchType } from './launch.js';
import { Node } from './node.js';
import { pageLimit } from './pages.js';
import { PricingMode } from './pricing.js';
import { RefusalType } from './refusals.js';
import { rentalTerms } from './terms.js';

const INTERVAL_CURSOR = /^GPC:T:\["S:i-[0-9a-f]{8}","S:(GPU|DISK)","N:\d{1,9}"\]$/;

export const InstanceStatus = builder.enumType('InstanceStatus', {
  description: 'State of an instance.',
  values: {
    RUNNING: { description: 'GPUs and disk are billed.' },
    STOPPED: { description: 'Only the disk is billed; the machine is free for others.' },
    DESTROYED: { description: 'Nothing is billed; the disk is erased.' },
  },
});

const InstanceActionKind = builder.enumType('InstanceActionKind', {
  description: 'An action on an instance.',
  values: {
    START: { description: 'From STOPPED. Starts it on its machine, if the machine is free and the balance covers it.' },
    STOP: { description: 'From RUNNING. GPU billing ends with that second.' },
    DESTROY: { description: 'From RUNNING or STOPPED. All billing ends with that second and the disk is erased.' },
  },
});

export const StopReason = builder.enumType('StopReason', {
  description: 'Reason why an instance stopped.',
  values: {
    USER: { description: 'The owner stopped or destroyed it.' },
    PREEMPTED: { description: 'An on-demand or reserved instance took the machine of an interruptible one.' },
    BALANCE_EXHAUSTED: { description: 'Credit ran out.' },
    ACCOUNT_SUSPENDED: { description: 'The operator suspended the account.' },
    OPERATOR: { description: 'The operator stopped or destroyed it.' },
    START_FAILED: {
      description:
        "Its container could not be started. If that was the host's fault, the GPU seconds of the start are credited.",
    },
    DEADLINE: { description: 'Its stopAt or destroyAt was reached.' },
    SPEND_LIMIT: {
      description: 'Its spend limit, or the monthly limit of its API key or of the account, was reached.',
    },
    IDLE: { description: 'None of its GPUs was busy and no client was connected for stopWhenIdle minutes.' },
    COMMAND_ENDED: { description: 'Its command ended, and its launch says to stop or destroy it then.' },
  } satisfies Record<Reason, object>,
});

const UsageResource = builder.enumType('UsageResource', {
  description: 'A billed resource.',
  values: {
    GPU: { description: 'The whole machine, while running.' },
    DISK: { description: 'The disk, until destroyed.' },
  },
});

const UsageInterval = builder.prismaObject('UsageInterval', {
  description: 'Seconds billed at a locked rate. Includes the start and excludes the end.',
  fields: (t) => ({
    resource: t.expose('resource', { type: UsageResource, description: 'The billed resource.' }),
    ratePerHour: t.expose('rate', { type: 'USD', description: 'Locked rate in USD per hour.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'First billed second.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'End of the interval; null while it is open.',
    }),
    stopReason: t.expose('stopReason', {
      type: StopReason,
      nullable: true,
      description: 'Reason why it ended. Null while it is open, or if an earlier version ended it.',
    }),
  }),
});

/** Replaces Prisma's own connection, which would read all of an instance's intervals for every page. */
const intervalPages = prismaConnectionHelpers(builder, UsageInterval, {
  cursor: 'instanceId_resource_ordinal',
  maxSize: pageLimit(() => INTERVAL_CURSOR),
});

const UsageType = builder.objectRef<Usage>('InstanceUsage').implement({
  description: 'Usage and cost of an instance so far. The parts add up to the total.',
  fields: (t) => ({
    gpuSeconds: t.int({
      description: 'Seconds in which it was running.',
      resolve: ({ gpuSeconds }) => Number(gpuSeconds),
    }),
    diskSeconds: t.int({ description: 'Seconds its disk existed.', resolve: ({ diskSeconds }) => Number(diskSeconds) }),
    gpuCost: t.expose('gpuCost', { type: 'USD', description: 'Cost of the GPU seconds.' }),
    diskCost: t.expose('diskCost', { type: 'USD', description: 'Cost of the disk seconds.' }),
    earlyExitCost: t.expose('earlyExit', { type: 'USD', description: 'Charge for leaving a reserved term early.' }),
    preemptionMinimum: t.expose('preemptionMinimum', {
      type: 'USD',
      description: `Charges for the rest of the first ${PREEMPTION_MINIMUM_SECONDS} GPU seconds, if the instance preempted another one and stopped earlier.`,
    }),
    total: t.expose('total', { type: 'USD', description: 'Sum of all parts.' }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second up to which usage is counted.' }),
  }),
});

const StartCheckType = builder.objectRef<StartCheck>('StartCheck').implement({
  description: 'Preview of the action START on a stopped instance in this second.',
  fields: (t) => ({
    allowed: t.boolean({ description: 'Whether it would start.', resolve: ({ refusal }) => refusal === null }),
    refusal: t.expose('refusal', {
      type: RefusalType,
      nullable: true,
      description:
        'Reason for a refusal: its machine is taken or unreachable, or the balance is too low. Null if it would start.',
    }),
    preempts: t.exposeBoolean('preempts', {
      description: 'Whether it would stop an interruptible instance running on its machine.',
    }),
    minimumGpuSeconds: t.int({
      description: 'Minimum GPU seconds billed for the start: 60 if it preempts, else 0.',
      resolve: ({ minimumGpuSeconds }) => Number(minimumGpuSeconds),
    }),
    coverNeeded: t.expose('coverNeeded', {
      type: 'USD',
      description: 'Balance required: COVER_HOURS of all instances, including this one running.',
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second to which the preview refers.' }),
  }),
});

/**
 * The second for which an instance row's figures are computed. It is set when the first figure is requested. A row is
 * read for only one response, so all its figures there refer to the same second.
 */
const seconds = new WeakMap<object, Instant>();

function asOf(instance: InstanceRow, { clock }: Pick<KernelDeps, 'clock'>): Instant {
  const known = seconds.get(instance);
  if (known !== undefined) return known;
  const second = asOfNow(instance, clock.now());
  seconds.set(instance, second);
  return second;
}

export const InstanceType = builder.prismaObject('Instance', {
  interfaces: [Node],
  description: 'One rental of a machine.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`i-` and 8 hex characters.' }),
    status: t.expose('status', { type: InstanceStatus, description: 'State of the instance.' }),
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    numGpus: t.exposeInt('numGpus', { description: 'Number of GPUs in the machine.' }),
    region: t.exposeString('region', { description: 'Region code.' }),
    template: t.exposeString('template', { description: 'Template slug or OCI image reference.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Disk size in GB.' }),
    mode: t.expose('mode', { type: PricingMode, description: 'Pricing mode.' }),
    priceHr: t.expose('gpuRate', {
      type: 'USD',
      description: 'Locked rate of the whole machine in USD per hour, excluding disk.',
    }),
    diskPriceHr: t.expose('diskRate', { type: 'USD', description: 'Locked rate of the disk in USD per hour.' }),
    hostname: t.string({
      description: 'Hostname of the instance.',
      resolve: ({ id }, _args, { deps }) => `${id}.${deps.settings.serviceDomain}`,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'First billed second.' }),
    labels: t.field({
      type: 'Labels',
      description: 'Labels by key; an empty object if there are none.',
      resolve: ({ labels }) => (labels ?? {}) as Labels,
    }),
    canStart: t.field({
      type: StartCheckType,
      nullable: true,
      description: 'Whether it can be started now, and the requirements; null unless it is stopped.',
      resolve: (instance, _args, { deps, caller }) => startCheck(deps, instance, caller?.keyId ?? null),
    }),
    machine: t.relation('machine', { description: 'The machine of the instance.' }),
    name: t.string({
      description: 'Name given by its launch; by default its id.',
      select: { id: true, launch: true },
      resolve: ({ id, launch }) => launchOf(launch)?.name ?? id,
    }),
    launch: t.field({
      type: LaunchType,
      nullable: true,
      description: 'Launch settings given by the renter, in addition to template and disk; null if none were given.',
      select: { launch: true },
      resolve: ({ launch }) => launchOf(launch),
    }),
  }),
});

// The times and conditions at which the instance ends or ended.
builder.prismaObjectFields(InstanceType, (t) => ({
  stopAt: t.expose('stopAt', {
    type: 'DateTime',
    nullable: true,
    description: 'The second in which it stops automatically. Null if none is set, or after it has passed.',
  }),
  destroyAt: t.expose('destroyAt', {
    type: 'DateTime',
    nullable: true,
    description: 'The second in which it is destroyed automatically; null if none is set.',
  }),
  spendLimit: t.expose('spendLimit', {
    type: 'USD',
    nullable: true,
    description: 'Maximum total cost; null for no limit.',
  }),
  limitReachedAt: t.field({
    type: 'DateTime',
    nullable: true,
    description:
      "The second in which its spend limit was reached, or will be reached at its current rates. It stops then; its disk is still billed. Null if it won't be reached.",
    resolve: (instance) => limitReachedAtOf(instance),
  }),
  stopWhenIdle: t.exposeInt('stopWhenIdle', {
    nullable: true,
    description: 'Minutes without a busy GPU and without connections after which it stops; null to keep running.',
  }),
  runningSince: t.expose('runningSince', {
    type: 'DateTime',
    nullable: true,
    description: 'First billed second of its current run; null unless it is running.',
  }),
  stoppedAt: t.expose('stoppedAt', {
    type: 'DateTime',
    nullable: true,
    description: 'End of the second in which it stopped, the last one billed for GPUs. Null while it is running.',
  }),
  minimumUntil: t.expose('minimumUntil', {
    type: 'DateTime',
    nullable: true,
    description: `While it is running after preempting an interruptible instance: its first ${PREEMPTION_MINIMUM_SECONDS} GPU seconds, up to this instant, are billed even if it ends earlier. Null otherwise.`,
  }),
  destroyedAt: t.expose('destroyedAt', {
    type: 'DateTime',
    nullable: true,
    description: 'Time of destruction; null until destroyed.',
  }),
  stopReason: t.expose('stopReason', {
    type: StopReason,
    nullable: true,
    description: 'Reason why it stopped; null while it is running.',
  }),
}));

// The figures for the current second.
builder.prismaObjectFields(InstanceType, (t) => ({
  reservedUntil: t.field({
    type: 'DateTime',
    nullable: true,
    description:
      'End of the reserved term. Every second in which the instance is stopped moves it later. Null in other modes.',
    resolve: (instance, _args, { deps }) => reservedUntilOf(instance, asOf(instance, deps)),
  }),
  earlyExitCost: t.field({
    type: 'USD',
    description: 'Cost of destroying it now, in addition to usage.',
    // The cost is computed up to the end of this second, because that is when a destroy action would take effect.
    resolve: (instance, _args, { deps }) => earlyExitCostOf(instance, secondOf(deps.clock.nowMs()).end),
  }),
  usage: t.field({
    type: UsageType,
    description: 'Usage and charges up to this second.',
    resolve: (instance, _args, { deps }) => usageOf(instance, asOf(instance, deps)),
  }),
  asOf: t.field({
    type: 'DateTime',
    description: 'The second to which usage, earlyExitCost and reservedUntil refer.',
    resolve: (instance, _args, { deps }) => asOf(instance, deps),
  }),
  usageIntervals: t.connection(
    {
      type: UsageInterval,
      description: 'Billed intervals, oldest first.',
      resolve: (instance, args, context) => {
        // Throws synchronously, so that only one of several instances reports the fault.
        const { take, cursor } = intervalPages.getQuery(args, context, () => true);
        const position = cursor?.instanceId_resource_ordinal ?? null;
        const page = { instanceId: instance.id, take: required(take, 'page size'), position };
        return context.deps.usageIntervalLoader
          .page(page)
          .then((intervals) => intervalPages.resolve(intervals, args, context, instance));
      },
    },
    { name: 'UsageIntervalConnection', description: 'A page of usage intervals.' },
    { name: 'UsageIntervalEdge', description: 'A usage interval on a page.' },
  ),
}));

/** Paginates by position and supports any filter. */
const historyPages = prismaConnectionHelpers(builder, InstanceType, {
  cursor: 'accountId_sequence',
  // Only this account's cursors are accepted, because another account's would disclose how many instances it has had.
  maxSize: pageLimit((context) => new RegExp(`^GPC:T:\\["S:${accountOf(context)}","N:\\d{1,9}"\\]$`)),
});

const InstanceFilterInput = builder.inputType('InstanceFilterInput', {
  description:
    'Requirements for instances, all of which must be met. Omitted fields, null and empty lists require nothing.',
  fields: (t) => ({
    statuses: t.field({ type: [InstanceStatus], ...fromField(instanceFields.statuses) }),
    stopReasons: t.field({ type: [StopReason], ...fromField(instanceFields.stopReasons) }),
    gpus: t.stringList(fromField(commonFields.gpus)),
    modes: t.field({ type: [PricingMode], ...fromField(instanceFields.modes) }),
    labels: t.string(fromField(instanceFields.labelSelector)),
    createdFrom: t.field({ type: 'DateTime', description: 'Rented in this second or later.' }),
    createdTo: t.field({ type: 'DateTime', description: 'Rented before this second.' }),
  }),
});

const DeployInput = builder.inputType('DeployInput', {
  description: 'The rental to create.',
  fields: (t) => ({
    machineId: t.id({ required: true, ...fromField(instanceFields.machineId) }),
    ...rentalTerms(t),
    maxPricePerHour: t.float(fromField(instanceFields.maxPricePerHour)),
    idempotencyKey: t.string(fromField(commonFields.idempotencyKey)),
  }),
});

const sentRequestArgs = builder.args((t) => ({
  idempotencyKey: t.string({ required: true, description: 'Idempotency key of the request.' }),
}));

builder.queryFields((t) => ({
  instances: t.prismaField({
    type: ['Instance'],
    ...NEEDS_KEY,
    nullable: true,
    description: 'The live instances (running and stopped), newest first. Needs an API key.',
    args: { labels: t.arg.string(fromField(instanceFields.labelSelector)) },
    resolve: (query, _root, { labels }, context) => activeInstances(context.deps, accountOf(context), query, labels),
  }),
  instance: t.prismaField({
    type: 'Instance',
    ...NEEDS_KEY,
    nullable: true,
    description: 'One instance, including a destroyed one; null if the account has no such instance. Needs an API key.',
    args: { id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }) },
    resolve: (query, _root, { id }, context) => findInstance(context.deps, accountOf(context), id, query),
  }),
  instanceByIdempotencyKey: t.prismaField({
    type: 'Instance',
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Current state of the instance that an earlier request with this idempotency key rented, started, stopped or destroyed within the last 24 hours. Use it if you lost the response. Null if no such request was carried out. Needs an API key.',
    args: sentRequestArgs,
    resolve: (query, _root, { idempotencyKey }, context) =>
      instanceByIdempotencyKey(context.deps, accountOf(context), idempotencyKey, query),
  }),
  instanceOfRequest: t.prismaField({
    type: 'Instance',
    nullable: true,
    ...renamedTo('instanceByIdempotencyKey'),
    extensions: { ...NEEDS_KEY.extensions, ...renamedTo('instanceByIdempotencyKey').extensions },
    args: sentRequestArgs,
    resolve: (query, _root, { idempotencyKey }, context) =>
      instanceByIdempotencyKey(context.deps, accountOf(context), idempotencyKey, query),
  }),
}));

builder.queryField('instanceHistory', (t) =>
  t.connection(
    {
      type: InstanceType,
      ...NEEDS_KEY,
      nullable: true,
      description: `All instances of the account, including destroyed ones, newest first. With a filter, a page scans at most ${MAX_ROWS_SCANNED} instances: it can have fewer entries than requested, or none, although hasNextPage is true. Continue with endCursor. Needs an API key.`,
      args: { filter: t.arg({ type: InstanceFilterInput, description: 'Selects instances; by default all.' }) },
      resolve: async (_root, { filter, ...args }, context, info) => {
        const accountId = accountOf(context);
        const { take: wanted, cursor } = historyPages.getQuery(args, context, () => true);
        const take = required(wanted, 'page size');
        const { instances, scannedTo } = await instanceHistory(
          context.deps,
          accountId,
          {
            ...queryFromInfo({ context, info, path: ['edges', 'node'] }),
            position: cursor?.accountId_sequence?.sequence ?? null,
            take,
          },
          filter,
        );
        const page = historyPages.resolve(instances, args, context, undefined);
        if (scannedTo === null) return page;
        const edge = formatPrismaCursor({ accountId, sequence: scannedTo }, ['accountId', 'sequence']);
        return { ...page, pageInfo: markMorePages(page.pageInfo, { edge, isBackwards: take < 0 }) };
      },
    },
    { name: 'InstanceConnection', description: 'A page of instances.' },
    { name: 'InstanceEdge', description: 'An instance on a page.' },
  ),
);

builder.mutationFields((t) => ({
  deploy: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Rents a machine at the price of its offer, which is locked for the life of the instance.',
    args: { input: t.arg({ type: DeployInput, required: true, description: 'The rental to create.' }) },
    resolve: async (_root, { input }, context) =>
      resultOf(context, await deploy(context.deps, accountForRental(context, input), input, callerOf(context).keyId)),
  }),
  action: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Starts, stops or destroys an instance and returns its new state.',
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      action: t.arg({ type: InstanceActionKind, required: true, ...fromField(instanceFields.action) }),
      idempotencyKey: t.arg.string(fromField(commonFields.idempotencyKey)),
    },
    resolve: async (_root, args, context) =>
      resultOf(context, await act(context.deps, accountOf(context), args, callerOf(context).keyId)),
  }),
}));

// Settings that apply until they are changed.
builder.mutationFields((t) => ({
  setDeadlines: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Sets when an instance stops or is destroyed automatically, exact to the second. Omitted deadlines stay unchanged; null removes one.',
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      stopAt: t.arg.string(fromField(instanceFields.stopAt)),
      destroyAt: t.arg.string(fromField(instanceFields.destroyAt)),
    },
    resolve: (_root, { id, ...deadlines }, context) => changeDeadlines(context.deps, accountOf(context), id, deadlines),
  }),
  setSpendLimit: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      "Sets the maximum total cost of an instance. Omit it or pass null to remove the limit. If its cost has already passed the limit, the instance stops immediately. Raising the limit doesn't start it.",
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      spendLimit: t.arg.float(fromField(instanceFields.spendLimit)),
    },
    resolve: (_root, { id, spendLimit }, context) => changeSpendLimit(context.deps, accountOf(context), id, spendLimit),
  }),
  setLabels: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      "Adds, changes and removes an instance's labels. The others stay. They can be changed even after it is destroyed.",
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      labels: t.arg({ type: 'Labels', ...fromField(instanceFields.labels) }),
      remove: t.arg.stringList(fromField(instanceFields.labelKeys)),
    },
    resolve: (_root, args, context) => changeLabels(context.deps, accountOf(context), args),
  }),
  setStopWhenIdle: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Sets the idle minutes after which an instance stops. Omit it or pass null to remove the setting. Idle time counts from this change.',
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      stopWhenIdle: t.arg.int(fromField(instanceFields.stopWhenIdle)),
    },
    resolve: (_root, { id, stopWhenIdle }, context) =>
      changeStopWhenIdle(context.deps, accountOf(context), id, stopWhenIdle),
  }),
}));

builder.subscriptionFields((t) => ({
  instanceChanged: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    description:
      "Every change to the account's instances: deployed, started, stopped (also by preemption or lack of credit), destroyed. An event has the current state of the instance, so one event can cover several quick changes. The stream starts with the first change: subscribe first, then query instances. Needs an API key.",
    args: {
      id: t.arg.id({ description: 'Only changes to this instance.', extensions: { field: instanceFields.instanceId } }),
    },
    subscribe: (_root, { id }, context) =>
      instanceChanges(context.deps, callerOf(context), id ?? null, context.untilGone()),
    resolve: (instance) => instance,
  }),
}));

/** Marks that more pages follow. If this page has no entries, the next one continues where the scan ended. */
function markMorePages<Info extends { startCursor: string | null; endCursor: string | null }>(
  info: Info,
  { edge, isBackwards }: { edge: string; isBackwards: boolean },
) {
  return isBackwards
    ? { ...info, hasPreviousPage: true, startCursor: info.startCursor ?? edge }
    : { ...info, hasNextPage: true, endCursor: info.endCursor ?? edge };
}

export function resultOf(context: GatewayContext, { instance, replayed }: Outcome): Outcome['instance'] {
  if (replayed) context.onReplayed();
  return instance;
}
