import { instanceFields } from '../domain/instances/fields.js';
import { offerFields } from '../domain/inventory/fields.js';
import { type Quote, type QuoteForAccount, quote, quotedMachine } from '../domain/inventory/quote.js';
import { RESERVED_MONTHS } from '../domain/kernel/reserved.js';
import { mayDo } from '../domain/kernel/scopes.js';
import { required } from '../std/required.js';
import { builder, COUNTS_WITH_KEY, fromField } from './builder.js';
import { OfferFilterInput } from './offer-search.js';
import { PricingMode } from './pricing.js';
import { RefusalType } from './refusals.js';
import { rentalTerms } from './terms.js';

const QuoteInput = builder.inputType('QuoteInput', {
  description:
    'The rental to quote: on a given machine or, without machineId, on the machine that deployBest would choose.',
  fields: (t) => ({
    machineId: t.id({
      description: 'The machine. Without it, the best matching machine is quoted.',
      extensions: { field: instanceFields.machineId },
    }),
    filter: t.field({
      type: OfferFilterInput,
      description: "Requirements for the machine; can't be combined with machineId.",
    }),
    gpus: t.stringList(fromField(offerFields.preferredGpus)),
    regions: t.stringList(fromField(offerFields.preferredRegions)),
    maxPricePerHour: t.float(fromField(instanceFields.maxPricePerHour)),
    ...rentalTerms(t),
  }),
});

const ReservedTerms = builder.objectRef<Quote>('ReservedTerms').implement({
  description: 'Terms of a reserved rental.',
  fields: (t) => ({
    months: t.int({ description: 'Calendar months of the term.', resolve: () => RESERVED_MONTHS }),
    until: t.field({
      type: 'DateTime',
      description: 'End of the term if it starts now and never stops. Stopped seconds move it later.',
      resolve: ({ reservedUntil }) => required(reservedUntil, 'end of a reserved term'),
    }),
    onDemandPriceHr: t.expose('onDemandRate', {
      type: 'USD',
      description: 'On-demand price of the machine, in USD per hour.',
    }),
    discountHr: t.field({
      type: 'USD',
      description:
        'Discount in USD per hour of running time. Destroying the instance before the end repays the discount received.',
      resolve: ({ onDemandRate, gpuRate }) => onDemandRate - gpuRate,
    }),
  }),
});

const QuoteForAccountType = builder.objectRef<QuoteForAccount>('QuoteForAccount').implement({
  description: 'Effect of the rental on the account of the API key.',
  fields: (t) => ({
    balance: t.expose('balance', { type: 'USD', description: 'Remaining credit.' }),
    burnPerHour: t.expose('burnPerHour', {
      type: 'USD',
      description: 'All GPU and disk rates including this rental, in USD per hour.',
    }),
    coverNeeded: t.expose('coverNeeded', {
      type: 'USD',
      description: 'Balance required to deploy it: COVER_HOURS of all instances, including this one.',
    }),
    hoursLeft: t.exposeFloat('hoursLeft', {
      nullable: true,
      description: 'Hours that the balance lasts with this rental; null if nothing would be paid.',
    }),
    exhaustsAt: t.expose('exhaustsAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the balance would run out if this rental were deployed now; null if never.',
    }),
  }),
});

const QuoteType = builder.objectRef<Quote>('Quote').implement({
  description: 'The price of exactly this rental, as deploy would lock it in this second.',
  fields: (t) => ({
    machineId: t.exposeID('machineId', { description: 'Machine id to pass to deploy.' }),
    machine: t.prismaField({
      type: 'Machine',
      description: 'The machine.',
      resolve: (query, quoted, _args, { deps }) => quotedMachine(deps, quoted, query),
    }),
    mode: t.expose('mode', { type: PricingMode, description: 'Pricing mode.' }),
    template: t.exposeString('template', { description: 'Template slug or OCI image reference.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Disk size in GB.' }),
    freeDiskGb: t.exposeInt('freeDiskGb', { description: 'Free disk on the machine for a new instance, in GB.' }),
    priceHr: t.expose('gpuRate', {
      type: 'USD',
      description: 'Price of the whole machine in this mode, in USD per hour, excluding disk.',
    }),
    diskPriceHr: t.expose('diskRate', { type: 'USD', description: 'Price of the disk in USD per hour.' }),
    totalPriceHr: t.field({
      type: 'USD',
      description: 'Price of machine and disk, in USD per hour.',
      resolve: ({ gpuRate, diskRate }) => gpuRate + diskRate,
    }),
    coverNeeded: t.expose('coverNeeded', {
      type: 'USD',
      description: 'Balance required for this rental only: COVER_HOURS of it.',
    }),
    preempts: t.exposeBoolean('preempts', {
      description: 'Whether it would stop an interruptible instance running on the machine.',
    }),
    preemptedInstances: t.exposeInt('preemptedInstances', {
      description:
        'Number of interruptible instances it would stop. There can be several if parts of a large machine are rented.',
    }),
    minimumGpuSeconds: t.int({
      description: 'Minimum GPU seconds billed: 60 if it preempts, else 0.',
      resolve: ({ minimumGpuSeconds }) => Number(minimumGpuSeconds),
    }),
    minimumCost: t.expose('minimumCost', { type: 'USD', description: 'Cost of those seconds.' }),
    reserved: t.field({
      type: ReservedTerms,
      nullable: true,
      description: 'Terms of a reserved rental; null in other modes.',
      resolve: (quoted) => (quoted.reservedUntil === null ? null : quoted),
    }),
    canDeploy: t.boolean({
      description:
        'Whether deploy would succeed now: for this account with an API key, otherwise for any account with enough balance.',
      resolve: ({ refusal }) => refusal === null,
    }),
    refusal: t.expose('refusal', {
      type: RefusalType,
      nullable: true,
      description: 'Reason why deploy would refuse it; null if it would not.',
    }),
    account: t.expose('account', {
      type: QuoteForAccountType,
      nullable: true,
      description: 'Effect on the account; null without an API key that has the scope read.',
    }),
    asOf: t.expose('asOf', { type: 'DateTime', description: 'The second to which all figures refer.' }),
  }),
});

builder.queryFields((t) => ({
  quote: t.field({
    type: QuoteType,
    ...COUNTS_WITH_KEY,
    nullable: true,
    description:
      'Cost and requirements of a rental. Refused with deploy_failed if there is no such machine, or if no matching machine is free. Public; with an API key, it shows the effect on the account.',
    args: { input: t.arg({ type: QuoteInput, required: true, description: 'The rental to quote.' }) },
    resolve: (_root, { input }, { deps, caller }) => {
      const isFor = caller !== null && mayDo(caller.scopes, 'quote for an account');
      return quote(deps, isFor ? caller.accountId : null, input, caller?.keyId);
    },
  }),
}));
