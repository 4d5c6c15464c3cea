import { fields } from '../domain/fields.js';
import { type Quote, type QuoteForAccount, quote, quotedMachine } from '../domain/inventory/quote.js';
import { RESERVED_MONTHS } from '../domain/rules/reserved.js';
import { mayDo } from '../domain/rules/scopes.js';
import { builder, COUNTS_WITH_KEY, fromField } from './builder.js';
import { LaunchInput, VolumeAtPathInput } from './launch.js';
import { OfferFilterInput } from './offer-search.js';
import { PricingMode } from './pricing.js';
import { RefusalType } from './refusals.js';

const QuoteInput = builder.inputType('QuoteInput', {
  description:
    'What a rental is asked the price of: that of a machine, or without machineId that of the machine which deployBest would choose.',
  fields: (t) => ({
    machineId: t.id({
      description: 'The machine. Without it the best machine that fits is quoted.',
      extensions: { field: fields.machineId },
    }),
    filter: t.field({ type: OfferFilterInput, description: 'The requirements of the machine; not with machineId.' }),
    gpus: t.stringList(fromField(fields.preferredGpus)),
    regions: t.stringList(fromField(fields.preferredRegions)),
    maxPricePerHour: t.float(fromField(fields.maxPricePerHour)),
    template: t.string(fromField(fields.template)),
    diskGb: t.int(fromField(fields.diskGb)),
    mode: t.field({ type: PricingMode, ...fromField(fields.mode) }),
    launch: t.field({ type: LaunchInput, description: 'What runs, beside template and disk.' }),
    stopAt: t.string(fromField(fields.stopAt)),
    destroyAt: t.string(fromField(fields.destroyAt)),
    spendLimit: t.float(fromField(fields.spendLimit)),
    stopWhenIdle: t.int(fromField(fields.stopWhenIdle)),
    volumes: t.field({ type: [VolumeAtPathInput], ...fromField(fields.volumes) }),
  }),
});

const ReservedTerms = builder.objectRef<Quote>('ReservedTerms').implement({
  description: 'What a reserved rental commits to.',
  fields: (t) => ({
    months: t.int({ description: 'Calendar months of the term.', resolve: () => RESERVED_MONTHS }),
    until: t.field({
      type: 'DateTime',
      description: 'End of the term if it begins now and never stops; stopped seconds move it later.',
      resolve: ({ reservedUntil }) => reservedUntil!,
    }),
    onDemandPriceHr: t.expose('onDemandRate', {
      type: 'USD',
      description: 'What the machine costs on demand, in USD per hour.',
    }),
    discountHr: t.field({
      type: 'USD',
      description:
        'The discount in USD per hour of running. Destroying it before the end costs what was received of it.',
      resolve: ({ onDemandRate, gpuRate }) => onDemandRate - gpuRate,
    }),
  }),
});

const QuoteForAccountType = builder.objectRef<QuoteForAccount>('QuoteForAccount').implement({
  description: 'What the rental means for the account of the API key.',
  fields: (t) => ({
    balance: t.expose('balance', { type: 'USD', description: 'Credit left.' }),
    burnPerHour: t.expose('burnPerHour', {
      type: 'USD',
      description: 'All GPU and disk rates with this rental, in USD per hour.',
    }),
    coverNeeded: t.expose('coverNeeded', {
      type: 'USD',
      description: 'What the balance must hold to deploy it: COVER_HOURS of all instances, this one included.',
    }),
    hoursLeft: t.exposeFloat('hoursLeft', {
      nullable: true,
      description: 'Hours that the balance lasts with this rental; null when nothing would be paid.',
    }),
    exhaustsAt: t.expose('exhaustsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the balance would run out with this rental deployed now; null when it never would.',
    }),
  }),
});

const QuoteType = builder.objectRef<Quote>('Quote').implement({
  description: 'The price of exactly this rental, as deploy would lock it in this second.',
  fields: (t) => ({
    machineId: t.exposeID('machineId', { description: 'The machine id that deploy takes.' }),
    machine: t.prismaField({
      type: 'Machine',
      description: 'The machine.',
      resolve: (query, quoted, _args, { deps }) => quotedMachine(deps, quoted, query),
    }),
    mode: t.expose('mode', { type: PricingMode, description: 'How it would be priced.' }),
    template: t.exposeString('template', { description: 'Template slug or OCI image reference.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Disk size in GB.' }),
    freeDiskGb: t.exposeInt('freeDiskGb', { description: 'Disk in GB that the machine has left for a new instance.' }),
    priceHr: t.expose('gpuRate', {
      type: 'USD',
      description: 'The whole machine in this mode, in USD per hour, without disk.',
    }),
    diskPriceHr: t.expose('diskRate', { type: 'USD', description: 'The disk in USD per hour.' }),
    totalPriceHr: t.field({
      type: 'USD',
      description: 'Machine and disk, in USD per hour.',
      resolve: ({ gpuRate, diskRate }) => gpuRate + diskRate,
    }),
    coverNeeded: t.expose('coverNeeded', {
      type: 'USD',
      description: 'What a balance must hold for this rental alone: COVER_HOURS of it.',
    }),
    preempts: t.exposeBoolean('preempts', {
      description: 'Whether it would stop an interruptible instance that runs on the machine.',
    }),
    preemptedInstances: t.exposeInt('preemptedInstances', {
      description:
        'How many interruptible instances it would stop: several where a machine of many GPUs is rented by parts.',
    }),
    minimumGpuSeconds: t.int({
      description: 'Seconds of GPU that it is billed for at least: 60 where it preempts, else 0.',
      resolve: ({ minimumGpuSeconds }) => Number(minimumGpuSeconds),
    }),
    minimumCost: t.expose('minimumCost', { type: 'USD', description: 'What those seconds cost.' }),
    reserved: t.field({
      type: ReservedTerms,
      nullable: true,
      description: 'The terms of a reserved rental; null in other modes.',
      resolve: (quoted) => (quoted.reservedUntil === null ? null : quoted),
    }),
    canDeploy: t.boolean({
      description:
        'Whether deploy would take it now: with an API key by this account, without one by whoever has the cover.',
      resolve: ({ refusal }) => refusal === null,
    }),
    refusal: t.expose('refusal', {
      type: RefusalType,
      nullable: true,
      description: 'Why deploy would refuse it; null when it would not.',
    }),
    account: t.expose('account', {
      type: QuoteForAccountType,
      nullable: true,
      description: 'What it means for the account; null without an API key that has the scope read.',
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second that all of this is of.' }),
  }),
});

builder.queryFields((t) => ({
  quote: t.field({
    type: QuoteType,
    ...COUNTS_WITH_KEY,
    nullable: true,
    description:
      'What a rental would cost and need. Refused with deploy_failed when there is no such machine, or no machine that fits is free. Public; with an API key it says what the rental means for the account.',
    args: { input: t.arg({ type: QuoteInput, required: true, description: 'What to rent.' }) },
    resolve: (_root, { input }, { deps, caller }) => {
      const isFor = caller !== null && mayDo(caller.scopes, 'quote for an account');
      return quote(deps, isFor ? caller.accountId : null, input, caller?.keyId);
    },
  }),
}));
