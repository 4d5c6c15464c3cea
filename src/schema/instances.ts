import { formatPrismaCursor, prismaConnectionHelpers, queryFromInfo } from '@pothos/plugin-prisma';
import type { Deps } from '../domain/deps.js';
import { fields } from '../domain/fields.js';
import { asOfNow } from '../domain/instances/as-of.js';
import { type StartCheck, startCheck } from '../domain/instances/can-start.js';
import { instanceHistory, MAX_ROWS_SCANNED } from '../domain/instances/instance-history.js';
import {
  act,
  activeInstances,
  changeDeadlines,
  deploy,
  earlyExitCostOf,
  findInstance,
  type InstanceRow,
  instanceOfRequest,
  type Outcome,
  reservedUntilOf,
  type Usage,
  usageOf,
} from '../domain/instances/instances.js';
import { launchOf } from '../domain/instances/launch.js';
import { changeSpendLimit, limitReachedAtOf } from '../domain/instances/spend-limits.js';
import { changeStopWhenIdle } from '../domain/instances/stop-when-idle.js';
import { PREEMPTION_MINIMUM_SECONDS } from '../domain/rules/preemption.js';
import { type Instant, secondOf } from '../domain/rules/time.js';
import { instanceChanges } from '../domain/updates/change-streams.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf, type GatewayContext } from './context.js';
import { LaunchInput, LaunchType, renterOf, VolumeAtPathInput } from './launch.js';
import { Node } from './node.js';
import { pageLimit } from './pages.js';
import { PricingMode } from './pricing.js';
import { RefusalType } from './refusals.js';

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
  description: 'What can be done to an instance.',
  values: {
    START: { description: 'From STOPPED. Starts it on its machine, if that is free and the balance covers it.' },
    STOP: { description: 'From RUNNING. GPU billing ends with that second.' },
    DESTROY: { description: 'From RUNNING or STOPPED. All billing ends with that second and the disk is erased.' },
  },
});

export const StopReason = builder.enumType('StopReason', {
  description: 'Why an instance stopped.',
  values: {
    USER: { description: 'Its owner stopped or destroyed it.' },
    PREEMPTED: { description: 'An on-demand or reserved instance took the machine of an interruptible one.' },
    BALANCE_EXHAUSTED: { description: 'Credit ran out.' },
    ACCOUNT_SUSPENDED: { description: 'The operator suspended the account.' },
    OPERATOR: { description: 'The operator stopped or destroyed it.' },
    START_FAILED: {
      description:
        'Its container could not be started; where the host was at fault, the GPU seconds of that start are given back.',
    },
    DEADLINE: { description: 'Its stopAt or destroyAt was over.' },
    SPEND_LIMIT: {
      description: 'Its spend limit, or the monthly limit of its API key or of the account, was reached.',
    },
    IDLE: { description: 'No GPU of it was busy and nobody was connected for its stopWhenIdle minutes.' },
    COMMAND_ENDED: { description: 'Its command ended, and its launch says to stop or destroy it then.' },
  },
});

const UsageResource = builder.enumType('UsageResource', {
  description: 'What is billed.',
  values: {
    GPU: { description: 'The whole machine, while running.' },
    DISK: { description: 'The disk, until destroyed.' },
  },
});

const UsageInterval = builder.prismaObject('UsageInterval', {
  description: 'Seconds billed at a locked rate, from the start up to, but not including, the end.',
  fields: (t) => ({
    resource: t.expose('resource', { type: UsageResource, description: 'What is billed.' }),
    ratePerHour: t.expose('rate', { type: 'USD', description: 'Locked rate in USD per hour.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'First second billed.' }),
    endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true, description: 'Null while it is open.' }),
    stopReason: t.expose('stopReason', {
      type: StopReason,
      nullable: true,
      description: 'Why it ended; null while it is open, and where an earlier version ended it.',
    }),
  }),
});

/** Prisma itself reads all intervals of an instance for a page of them. */
const intervalPages = prismaConnectionHelpers(builder, UsageInterval, {
  cursor: 'instanceId_resource_ordinal',
  maxSize: pageLimit(() => INTERVAL_CURSOR),
});

const UsageType = builder.objectRef<Usage>('InstanceUsage').implement({
  description: 'What an instance has used and cost so far. The parts add up to the total.',
  fields: (t) => ({
    gpuSeconds: t.int({ description: 'Seconds it ran.', resolve: ({ gpuSeconds }) => Number(gpuSeconds) }),
    diskSeconds: t.int({ description: 'Seconds its disk existed.', resolve: ({ diskSeconds }) => Number(diskSeconds) }),
    gpuCost: t.expose('gpuCost', { type: 'USD', description: 'Cost of the GPU seconds.' }),
    diskCost: t.expose('diskCost', { type: 'USD', description: 'Cost of the disk seconds.' }),
    earlyExitCost: t.expose('earlyExit', { type: 'USD', description: 'The charge for leaving a reserved term early.' }),
    preemptionMinimum: t.expose('preemptionMinimum', {
      type: 'USD',
      description: `What was left of the first ${PREEMPTION_MINIMUM_SECONDS} GPU seconds when starts that sent another instance away ended.`,
    }),
    total: t.expose('total', { type: 'USD', description: 'The sum of all parts.' }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second up to which it is counted.' }),
  }),
});

const StartCheckType = builder.objectRef<StartCheck>('StartCheck').implement({
  description: 'What action START would do to a stopped instance in this second.',
  fields: (t) => ({
    allowed: t.boolean({ description: 'Whether it would start.', resolve: ({ refusal }) => refusal === null }),
    refusal: t.expose('refusal', {
      type: RefusalType,
      nullable: true,
      description: 'Why not: its machine is taken or away, or the balance too low. Null when it would start.',
    }),
    preempts: t.exposeBoolean('preempts', {
      description: 'Whether it would stop an interruptible instance that runs on its machine.',
    }),
    minimumGpuSeconds: t.int({
      description: 'Seconds of GPU that the start is billed for at least: 60 where it preempts, else 0.',
      resolve: ({ minimumGpuSeconds }) => Number(minimumGpuSeconds),
    }),
    coverNeeded: t.expose('coverNeeded', {
      type: 'USD',
      description: 'What the balance must hold: COVER_HOURS of all instances, this one running.',
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second that it is of.' }),
  }),
});

/** Rows are made for one answer: all its figures are of the second in which the first of them was asked for. */
const seconds = new WeakMap<object, Instant>();

function asOf(instance: InstanceRow, { clock }: Deps): Instant {
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
    status: t.expose('status', { type: InstanceStatus, description: 'State.' }),
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    numGpus: t.exposeInt('numGpus', { description: 'GPUs of the machine.' }),
    region: t.exposeString('region', { description: 'Region code.' }),
    template: t.exposeString('template', { description: 'Template slug or OCI image reference.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Disk size in GB.' }),
    mode: t.expose('mode', { type: PricingMode, description: 'How it is priced.' }),
    priceHr: t.expose('gpuRate', {
      type: 'USD',
      description: 'Locked rate of the whole machine in USD per hour, without disk.',
    }),
    diskPriceHr: t.expose('diskRate', { type: 'USD', description: 'Locked rate of the disk in USD per hour.' }),
    hostname: t.string({
      description: 'The hostname of the instance.',
      resolve: ({ id }, _args, { deps }) => `${id}.${deps.settings.serviceDomain}`,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'First second billed.' }),
    stopAt: t.expose('stopAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The second at which it stops by itself; null for none, and once that is over.',
    }),
    destroyAt: t.expose('destroyAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The second at which it is destroyed by itself; null for none.',
    }),
    spendLimit: t.expose('spendLimit', {
      type: 'USD',
      nullable: true,
      description: 'What it may cost in all; null for no limit.',
    }),
    limitReachedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'The second at which its spend limit was reached, or will be at its present rates: it stops then, its disk is billed on. Null when never.',
      resolve: (instance) => limitReachedAtOf(instance),
    }),
    stopWhenIdle: t.exposeInt('stopWhenIdle', {
      nullable: true,
      description: 'Minutes without a busy GPU and without connections after which it stops; null: it does not.',
    }),
    stoppedAt: t.expose('stoppedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The end of the second it stopped in, the last that was billed for GPUs. Null while it runs.',
    }),
    minimumUntil: t.expose('minimumUntil', {
      type: 'DateTime',
      nullable: true,
      description: `While it runs after it sent an interruptible instance away: its first ${PREEMPTION_MINIMUM_SECONDS} GPU seconds, up to this instant, are billed however early it ends. Null otherwise.`,
    }),
    destroyedAt: t.expose('destroyedAt', { type: 'DateTime', nullable: true, description: 'Null until destroyed.' }),
    stopReason: t.expose('stopReason', { type: StopReason, nullable: true, description: 'Null while it runs.' }),
    reservedUntil: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'End of the reserved term; it moves later by every second that the instance is stopped. Null in other modes.',
      resolve: (instance, _args, { deps }) => reservedUntilOf(instance, asOf(instance, deps)),
    }),
    earlyExitCost: t.field({
      type: 'USD',
      description: 'What destroying it now would cost on top of usage.',
      // Up to the end of this second, which a destroy would take.
      resolve: (instance, _args, { deps }) => earlyExitCostOf(instance, secondOf(deps.clock.nowMs()).end),
    }),
    usage: t.field({
      type: UsageType,
      description: 'Usage and charges so far, to this second.',
      resolve: (instance, _args, { deps }) => usageOf(instance, asOf(instance, deps)),
    }),
    asOf: t.field({
      type: 'DateTime',
      description: 'The second that usage, earlyExitCost and reservedUntil are of.',
      resolve: (instance, _args, { deps }) => asOf(instance, deps),
    }),
    canStart: t.field({
      type: StartCheckType,
      nullable: true,
      description: 'Whether it can be started now, and what that takes; null unless it is stopped.',
      resolve: (instance, _args, { deps, caller }) => startCheck(deps, instance, caller?.keyId ?? null),
    }),
    usageIntervals: t.connection(
      {
        type: UsageInterval,
        description: 'The billed intervals, oldest first.',
        resolve: (instance, args, context) => {
          // Refuses at once: with several instances, one reports the fault.
          const { take, cursor } = intervalPages.getQuery(args, context, () => true);
          const position = cursor?.instanceId_resource_ordinal ?? null;
          const page = { instanceId: instance.id, take: take!, position };
          return context.deps.usageIntervalLoader
            .page(page)
            .then((intervals) => intervalPages.resolve(intervals, args, context, instance));
        },
      },
      { name: 'UsageIntervalConnection', description: 'A page of usage intervals.' },
      { name: 'UsageIntervalEdge', description: 'A usage interval on a page.' },
    ),
    machine: t.relation('machine', { description: 'The machine that it is on.' }),
    name: t.string({
      description: 'The name of its launch; without one its id.',
      select: { id: true, launch: true },
      resolve: ({ id, launch }) => launchOf(launch)?.name ?? id,
    }),
    launch: t.field({
      type: LaunchType,
      nullable: true,
      description: 'What its renter launched beside template and disk; null when the template says it all.',
      select: { launch: true },
      resolve: ({ launch }) => launchOf(launch),
    }),
  }),
});

/** Pages by position, whatever is filtered. */
const historyPages = prismaConnectionHelpers(builder, InstanceType, {
  cursor: 'accountId_sequence',
  // This account's cursors only: another account's would disclose how many instances it has had.
  maxSize: pageLimit((context) => new RegExp(`^GPC:T:\\["S:${accountOf(context)}","N:\\d{1,9}"\\]$`)),
});

const InstanceFilterInput = builder.inputType('InstanceFilterInput', {
  description:
    'What instances must be, all of which must be met. A field that is left out, null or an empty list requires nothing.',
  fields: (t) => ({
    statuses: t.field({ type: [InstanceStatus], ...fromField(fields.statuses) }),
    stopReasons: t.field({ type: [StopReason], ...fromField(fields.stopReasons) }),
    gpus: t.stringList(fromField(fields.gpus)),
    modes: t.field({ type: [PricingMode], ...fromField(fields.modes) }),
    createdFrom: t.field({ type: 'DateTime', description: 'Rented in this second or later.' }),
    createdTo: t.field({ type: 'DateTime', description: 'Rented before this second.' }),
  }),
});

const DeployInput = builder.inputType('DeployInput', {
  description: 'What to rent.',
  fields: (t) => ({
    machineId: t.id({ required: true, ...fromField(fields.machineId) }),
    template: t.string(fromField(fields.template)),
    diskGb: t.int(fromField(fields.diskGb)),
    mode: t.field({ type: PricingMode, ...fromField(fields.mode) }),
    launch: t.field({ type: LaunchInput, description: 'What runs, beside template and disk.' }),
    stopAt: t.string(fromField(fields.stopAt)),
    destroyAt: t.string(fromField(fields.destroyAt)),
    spendLimit: t.float(fromField(fields.spendLimit)),
    stopWhenIdle: t.int(fromField(fields.stopWhenIdle)),
    volumes: t.field({ type: [VolumeAtPathInput], ...fromField(fields.volumes) }),
    maxPricePerHour: t.float(fromField(fields.maxPricePerHour)),
    idempotencyKey: t.string(fromField(fields.idempotencyKey)),
  }),
});

builder.queryFields((t) => ({
  instances: t.prismaField({
    type: ['Instance'],
    ...NEEDS_KEY,
    nullable: true,
    description: 'The active instances (running and stopped), newest first. Needs an API key.',
    resolve: (query, _root, _args, context) => activeInstances(context.deps, accountOf(context), query),
  }),
  instance: t.prismaField({
    type: 'Instance',
    ...NEEDS_KEY,
    nullable: true,
    description: 'One instance, destroyed or not; null when the account has no such instance. Needs an API key.',
    args: { id: t.arg.id({ required: true, ...fromField(fields.instanceId) }) },
    resolve: (query, _root, { id }, context) => findInstance(context.deps, accountOf(context), id, query),
  }),
  instanceOfRequest: t.prismaField({
    type: 'Instance',
    ...NEEDS_KEY,
    nullable: true,
    description:
      'The instance that an earlier request with this idempotency key rented, started, stopped or destroyed within 24 hours, as it is now: for whoever lost the answer. Null when no such request was carried out. Needs an API key.',
    args: { idempotencyKey: t.arg.string({ required: true, description: 'The key that the request was sent with.' }) },
    resolve: (query, _root, { idempotencyKey }, context) =>
      instanceOfRequest(context.deps, accountOf(context), idempotencyKey, query),
  }),
  instanceHistory: t.connection(
    {
      type: InstanceType,
      ...NEEDS_KEY,
      nullable: true,
      description: `Every instance of the account, destroyed ones included, newest first. With a filter a page looks through ${MAX_ROWS_SCANNED} instances at most: it may hold fewer entries than asked for, or none, though hasNextPage is true; endCursor then leads on. Needs an API key.`,
      args: { filter: t.arg({ type: InstanceFilterInput, description: 'Which instances; by default all.' }) },
      resolve: async (_root, { filter, ...args }, context, info) => {
        const accountId = accountOf(context);
        const { take, cursor } = historyPages.getQuery(args, context, () => true);
        const { instances, scannedTo } = await instanceHistory(
          context.deps,
          accountId,
          {
            ...queryFromInfo({ context, info, path: ['edges', 'node'] }),
            position: cursor?.accountId_sequence?.sequence ?? null,
            take: take!,
          },
          filter,
        );
        const page = historyPages.resolve(instances, args, context, undefined);
        if (scannedTo === null) return page;
        const edge = formatPrismaCursor({ accountId, sequence: scannedTo }, ['accountId', 'sequence']);
        return { ...page, pageInfo: cutShort(page.pageInfo, { edge, isBackwards: take! < 0 }) };
      },
    },
    { name: 'InstanceConnection', description: 'A page of instances.' },
    { name: 'InstanceEdge', description: 'An instance on a page.' },
  ),
}));

builder.mutationFields((t) => ({
  deploy: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Rents a machine at the price of its offer, locked for the life of the instance.',
    args: { input: t.arg({ type: DeployInput, required: true, description: 'What to rent.' }) },
    resolve: async (_root, { input }, context) =>
      answer(context, await deploy(context.deps, renterOf(context, input), input, callerOf(context).keyId)),
  }),
  action: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Starts, stops or destroys an instance and returns its new state.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      action: t.arg({ type: InstanceActionKind, required: true, ...fromField(fields.action) }),
      idempotencyKey: t.arg.string(fromField(fields.idempotencyKey)),
    },
    resolve: async (_root, args, context) =>
      answer(context, await act(context.deps, accountOf(context), args, callerOf(context).keyId)),
  }),
  setDeadlines: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Sets when an instance stops or is destroyed by itself, to the second, whoever notices when. What is left out stays as it is; null takes it away.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      stopAt: t.arg.string(fromField(fields.stopAt)),
      destroyAt: t.arg.string(fromField(fields.destroyAt)),
    },
    resolve: (_root, { id, ...deadlines }, context) => changeDeadlines(context.deps, accountOf(context), id, deadlines),
  }),
  setSpendLimit: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Sets what an instance may cost in all; null or left out takes the limit away. One that is passed already stops it with this second. A higher one starts nothing.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      spendLimit: t.arg.float(fromField(fields.spendLimit)),
    },
    resolve: (_root, { id, spendLimit }, context) => changeSpendLimit(context.deps, accountOf(context), id, spendLimit),
  }),
  setStopWhenIdle: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Sets after how many idle minutes an instance stops; null or left out takes that away. They are counted from the change.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      stopWhenIdle: t.arg.int(fromField(fields.stopWhenIdle)),
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
      "Every change to the account's instances: deployed, started, stopped (also by preemption or lack of credit), destroyed. An event holds the current state of the instance, so several quick changes may be one event. It begins with the first change: subscribe first, then read instances. Needs an API key.",
    args: { id: t.arg.id({ description: 'Only changes to this instance.', extensions: { field: fields.instanceId } }) },
    subscribe: (_root, { id }, context) =>
      instanceChanges(context.deps, callerOf(context), id ?? null, context.untilGone()),
    resolve: (instance) => instance,
  }),
}));

/** Leads on from where the search ended. An entry's own cursor does, where there is one. */
function cutShort<Info extends { startCursor: string | null; endCursor: string | null }>(
  info: Info,
  { edge, isBackwards }: { edge: string; isBackwards: boolean },
) {
  return isBackwards
    ? { ...info, hasPreviousPage: true, startCursor: info.startCursor ?? edge }
    : { ...info, hasNextPage: true, endCursor: info.endCursor ?? edge };
}

export function answer(context: GatewayContext, { instance, replayed }: Outcome): Outcome['instance'] {
  if (replayed) context.onReplayed();
  return instance;
}
