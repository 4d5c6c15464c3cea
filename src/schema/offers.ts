import { findGpuModel, findRegion } from '../domain/inventory/catalogue.js';
import { offerFields } from '../domain/inventory/fields.js';
import { findOffer, findOffers, type Offer } from '../domain/inventory/offers.js';
import { commonFields } from '../domain/kernel/fields.js';
import { PREEMPTION_MINIMUM_SECONDS } from '../domain/kernel/preemption.js';
import type { ModeRates } from '../domain/kernel/price-rule.js';
import { offerChanges } from '../domain/updates/change-streams.js';
import { builder, fromField, NEVER_CHANGES } from './builder.js';
import { GpuModelType, RegionType } from './catalogue.js';

const NetMbps = builder.objectRef<Offer['netMbps']>('NetMbps').implement({
  ...NEVER_CHANGES,
  description: 'Network bandwidth in megabits per second.',
  fields: (t) => ({
    down: t.exposeInt('down', { description: 'Download.' }),
    up: t.exposeInt('up', { description: 'Upload.' }),
  }),
});

const OfferPrices = builder.objectRef<ModeRates>('OfferPrices').implement({
  ...NEVER_CHANGES,
  description: 'USD per hour for the whole machine.',
  fields: (t) => ({
    onDemand: t.expose('onDemand', { type: 'USD', description: 'On demand.' }),
    interruptible: t.expose('interruptible', { type: 'USD', description: 'Interruptible.' }),
    reserved: t.expose('reserved', { type: 'USD', description: 'Reserved for 3 months.' }),
  }),
});

export const OfferType = builder.objectRef<Offer>('Offer').implement({
  ...NEVER_CHANGES,
  description: 'A machine that can be deployed now, with its price.',
  fields: (t) => ({
    machineId: t.exposeID('machineId', { description: 'Machine id to pass to deploy.' }),
    gpu: t.exposeString('gpu', { description: 'Slug of the GPU model.' }),
    numGpus: t.exposeInt('numGpus', { description: 'Number of GPUs in the machine, 1 to 8. It is rented as a whole.' }),
    region: t.exposeString('region', { description: 'Region code.' }),
    cpu: t.exposeString('cpu', { description: 'CPU model.' }),
    vcpus: t.exposeInt('vcpus', { description: 'Virtual CPUs.' }),
    ramGb: t.exposeInt('ramGb', { description: 'Memory in GB.' }),
    diskGb: t.exposeInt('diskGb', { description: 'Free disk in GB for a new instance.' }),
    netMbps: t.expose('netMbps', { type: NetMbps, description: 'Network bandwidth.' }),
    ports: t.exposeInt('ports', { description: 'Number of ports that can be opened to the internet.' }),
    pcie: t.exposeInt('pcie', { description: 'PCIe generation.' }),
    nvlink: t.exposeBoolean('nvlink', { description: 'Whether the GPUs are linked by NVLink.' }),
    cudaMax: t.exposeString('cudaMax', { description: 'Highest CUDA version its driver supports; empty for AMD.' }),
    reliability: t.exposeFloat('reliability', { description: 'Uptime of the machine as a fraction, 0 to 1.' }),
    pricePerHour: t.expose('pricePerHour', { type: OfferPrices, description: 'Price of the whole machine.' }),
    preemptible: t.exposeBoolean('preemptible', {
      description: `Whether an on-demand or reserved deploy would stop an interruptible instance. Such a deploy is billed for at least ${PREEMPTION_MINIMUM_SECONDS} GPU seconds, even if it ends earlier. There is no minimum on a free machine.`,
    }),
    demo: t.exposeBoolean('demo', {
      description:
        'Whether this is a generated machine of the demonstration inventory, or a trial machine with simulated GPUs. Only the latter has an agent and runs containers.',
    }),
    hasAgent: t.exposeBoolean('hasAgent', {
      description:
        'Whether a host agent runs containers on the machine. Without one, a rental is only a record and runs nothing.',
    }),
    fuse: t.exposeBoolean('fuse', {
      description: 'Whether the operator lets containers on the machine mount FUSE file systems.',
    }),
    gpuModel: t.field({
      type: GpuModelType,
      nullable: true,
      description: 'The GPU model.',
      resolve: ({ gpu }, _args, { deps }) => findGpuModel(deps, gpu),
    }),
    regionInfo: t.field({
      type: RegionType,
      nullable: true,
      description: 'The region.',
      resolve: ({ region }, _args, { deps }) => findRegion(deps, region),
    }),
  }),
});

const offerArgs = builder.args((t) => ({
  gpu: t.string(fromField(offerFields.gpu)),
  region: t.string(fromField(offerFields.region)),
  numMin: t.int(fromField(offerFields.numMin)),
  priceMax: t.float(fromField(offerFields.priceMax)),
  cudaMin: t.string(fromField(offerFields.cudaMin)),
  limit: t.int(fromField(commonFields.limit)),
  includePreemptible: t.boolean({
    defaultValue: false,
    description:
      'Also include machines used only by interruptible instances, which would be stopped: see `preemptible`.',
  }),
}));

builder.queryFields((t) => ({
  offer: t.field({
    type: OfferType,
    nullable: true,
    description:
      'The offer of one machine, even if preemptible; null if it is not offered now. quote gives the reason. Public.',
    args: { machineId: t.arg.id({ required: true, description: 'The machine id.' }) },
    resolve: (_root, { machineId }, { deps }) => findOffer(deps, machineId),
  }),
  offers: t.field({
    type: [OfferType],
    description:
      'Machines that can be deployed now: cheapest on-demand price of the whole machine first, then most reliable. Public.',
    args: offerArgs,
    resolve: (_root, args, { deps }) => findOffers(deps, args),
  }),
}));

builder.subscriptionFields((t) => ({
  offersChanged: t.field({
    type: [OfferType],
    description:
      'The result of the offers query with the same arguments: now, and again after each change, at most once per second. Public.',
    args: offerArgs,
    subscribe: (_root, args, { deps, caller, visitor, untilGone }) =>
      offerChanges(deps, caller ?? visitor(), args, untilGone()),
    resolve: (offers) => offers,
  }),
}));
