import { commonFields } from '../domain/kernel/fields.js';
import { MAX_VOLUMES, volumeRate } from '../domain/kernel/volume.js';
import { volumeFields } from '../domain/volumes/fields.js';
import { volumePassword } from '../domain/volumes/password.js';
import {
  createVolume,
  deleteVolume,
  findVolume,
  growVolume,
  listVolumes,
  type VolumeOutcome,
} from '../domain/volumes/volumes.js';
import { atMost, builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf, type GatewayContext } from './context.js';
import { Node } from './node.js';

/**
 * Maximum number of snapshots shown, newest first. The service keeps fewer, but an owner can create any number with
 * restic.
 */
const MAX_SNAPSHOTS = 100;
const NOT_DROPPED = { where: { droppedAt: null }, orderBy: { at: 'desc' } } as const;

builder.prismaObject('VolumeSnapshot', {
  description: 'Contents of a volume at one moment.',
  fields: (t) => ({
    id: t.exposeID('id', { description: "restic's id of the snapshot: 64 hex characters." }),
    at: t.expose('at', { type: 'DateTime', description: 'Time at which its last byte was stored.' }),
    sizeBytes: t.float({
      nullable: true,
      select: { sizeBytes: true },
      description: 'Total size of its files in bytes; null if unknown.',
      resolve: ({ sizeBytes }) => (sizeBytes === null ? null : Number(sizeBytes)),
    }),
    instanceId: t.exposeID('instanceId', {
      nullable: true,
      description: 'The instance that wrote it; null if the owner created it.',
    }),
  }),
});

export const VolumeType = builder.prismaObject('Volume', {
  interfaces: [Node],
  description: 'A disk of the account that outlives the machines of its instances.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`v-` and 8 hex characters.' }),
    name: t.exposeString('name', { description: "The owner's name for the volume." }),
    sizeGb: t.exposeInt('sizeGb', { description: 'Size in GB.' }),
    priceHr: t.field({
      type: 'USD',
      select: { gbRate: true, sizeGb: true },
      description: 'Price of its size in USD per hour, at the rate locked at creation.',
      resolve: (volume) => volumeRate(volume),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'First billed second.' }),
    deletedAt: t.expose('deletedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time until which it was billed; null while it exists.',
    }),
    inUseBy: t.exposeID('leaseInstanceId', {
      nullable: true,
      description:
        "The instance that holds its lease, from the instance's start until its last snapshot is stored; null if none does.",
    }),
    storedBytes: t.float({
      select: { storedBytes: true },
      description: 'Bytes that its snapshots take, compressed and deduplicated.',
      resolve: ({ storedBytes }) => Number(storedBytes),
    }),
    lastSnapshotAt: t.field({
      type: 'DateTime',
      nullable: true,
      select: { snapshots: { ...NOT_DROPPED, take: 1, select: { at: true } } },
      description: 'Time at which its newest snapshot was stored; null before the first.',
      resolve: ({ snapshots }) => snapshots[0]?.at ?? null,
    }),
    snapshots: t.relation('snapshots', {
      ...atMost(MAX_SNAPSHOTS),
      description: `Its snapshots, newest first; at most ${MAX_SNAPSHOTS}.`,
      query: { ...NOT_DROPPED, take: MAX_SNAPSHOTS },
    }),
  }),
});

const ID = {
  required: true,
  description: volumeFields.volumeId.description,
  extensions: { field: volumeFields.volumeId },
} as const;

builder.queryFields((t) => ({
  volumes: t.prismaField({
    type: [VolumeType],
    ...NEEDS_KEY,
    nullable: true,
    description: `The account's volumes, oldest first; at most ${MAX_VOLUMES}. Needs an API key.`,
    resolve: (query, _root, _args, context) => listVolumes(context.deps, accountOf(context), query),
  }),
  volume: t.prismaField({
    type: VolumeType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'One volume of the account, including a deleted one; null if the account has no such volume. Needs an API key.',
    args: { id: t.arg.id(ID) },
    resolve: (query, _root, { id }, context) => findVolume(context.deps, accountOf(context), id, query),
  }),
  volumePassword: t.string({
    ...NEEDS_KEY,
    nullable: true,
    description:
      "The password of a volume's repository, which restic needs in addition to an API key. Needs an API key with the scope rent.",
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, context) => volumePassword(context.deps, accountOf(context), id),
  }),
}));

const VolumeSnapshotInput = builder.inputType('VolumeSnapshotInput', {
  description: "A snapshot of one of the account's volumes.",
  fields: (t) => ({
    volumeId: t.id({ required: true, description: 'Id of the volume.' }),
    snapshotId: t.string({ required: true, ...fromField(volumeFields.snapshotId) }),
  }),
});

const CreateVolumeInput = builder.inputType('CreateVolumeInput', {
  description: 'A new volume.',
  fields: (t) => ({
    name: t.string({ required: true, ...fromField(volumeFields.volumeName) }),
    sizeGb: t.int({ required: true, ...fromField(volumeFields.volumeGb) }),
    fromSnapshot: t.field({
      type: VolumeSnapshotInput,
      description:
        'Initial contents. Restores a snapshot as a new volume, which must be at least as large. Instances can use it once the copy has finished.',
    }),
    idempotencyKey: t.string(fromField(commonFields.idempotencyKey)),
  }),
});

builder.mutationFields((t) => ({
  createVolume: t.field({
    type: VolumeType,
    ...NEEDS_KEY,
    nullable: true,
    description: `Creates a volume, billed per second until it is deleted. An account has at most ${MAX_VOLUMES}.`,
    args: { input: t.arg({ type: CreateVolumeInput, required: true, description: 'Name and size of the volume.' }) },
    resolve: (_root, { input }, context) => outcomeOf(context, createVolume(context.deps, callerOf(context), input)),
  }),
  growVolume: t.field({
    type: VolumeType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Grows a volume. It is billed at the new size starting with the next second. An instance that uses it sees the new size after its next start.',
    args: {
      id: t.arg.id(ID),
      sizeGb: t.arg.int({ required: true, ...fromField(volumeFields.volumeGb) }),
      idempotencyKey: t.arg.string(fromField(commonFields.idempotencyKey)),
    },
    resolve: (_root, args, context) => outcomeOf(context, growVolume(context.deps, callerOf(context), args)),
  }),
  deleteVolume: t.field({
    type: VolumeType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Deletes a volume with all its snapshots. Refused while an instance holds its lease.',
    args: { id: t.arg.id(ID), idempotencyKey: t.arg.string(fromField(commonFields.idempotencyKey)) },
    resolve: (_root, args, context) => outcomeOf(context, deleteVolume(context.deps, callerOf(context), args)),
  }),
}));

async function outcomeOf(context: GatewayContext, change: Promise<VolumeOutcome>) {
  const { volume, replayed } = await change;
  if (replayed) context.onReplayed();
  return volume;
}
