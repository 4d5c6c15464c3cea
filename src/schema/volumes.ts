import { fields } from '../domain/fields.js';
import { MAX_VOLUMES, volumeRate } from '../domain/rules/volume.js';
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

/** Newest of them shown; more than are kept by themselves, and an owner's own restic may make any number. */
const MAX_SNAPSHOTS = 100;
const KEPT = { where: { droppedAt: null }, orderBy: { at: 'desc' } } as const;

builder.prismaObject('VolumeSnapshot', {
  description: 'What a volume held at one moment.',
  fields: (t) => ({
    id: t.exposeID('id', { description: "restic's own id of it: 64 hex characters." }),
    at: t.expose('at', { type: 'DateTime', description: 'When its last byte was stored.' }),
    sizeBytes: t.float({
      nullable: true,
      select: { sizeBytes: true },
      description: 'Bytes of all its files; null where nobody said.',
      resolve: ({ sizeBytes }) => (sizeBytes === null ? null : Number(sizeBytes)),
    }),
    instanceId: t.exposeID('instanceId', {
      nullable: true,
      description: "The instance that it is of; null for the owner's own.",
    }),
  }),
});

export const VolumeType = builder.prismaObject('Volume', {
  interfaces: [Node],
  description: "A disk of the account's own, which survives the machines that its instances run on.",
  fields: (t) => ({
    id: t.exposeID('id', { description: '`v-` and 8 hex characters.' }),
    name: t.exposeString('name', { description: 'What its owner calls it.' }),
    sizeGb: t.exposeInt('sizeGb', { description: 'Size in GB.' }),
    priceHr: t.field({
      type: 'USD',
      select: { gbRate: true, sizeGb: true },
      description: 'USD per hour of its size, at the rate that was locked when it was created.',
      resolve: (volume) => volumeRate(volume),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'From this second on it is billed.' }),
    deletedAt: t.expose('deletedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'It was billed up to then; null while it is there.',
    }),
    inUseBy: t.exposeID('leaseInstanceId', {
      nullable: true,
      description: 'The instance that has it, from its start until its last snapshot is stored; null while none does.',
    }),
    storedBytes: t.float({
      select: { storedBytes: true },
      description: 'Bytes that its snapshots take, compressed and each part once.',
      resolve: ({ storedBytes }) => Number(storedBytes),
    }),
    lastSnapshotAt: t.field({
      type: 'DateTime',
      nullable: true,
      select: { snapshots: { ...KEPT, take: 1, select: { at: true } } },
      description: 'When its newest snapshot was stored; null before the first.',
      resolve: ({ snapshots }) => snapshots[0]?.at ?? null,
    }),
    snapshots: t.relation('snapshots', {
      ...atMost(MAX_SNAPSHOTS),
      description: `Its snapshots, newest first; at most ${MAX_SNAPSHOTS}.`,
      query: { ...KEPT, take: MAX_SNAPSHOTS },
    }),
  }),
});

const ID = {
  required: true,
  description: fields.volumeId.description,
  extensions: { field: fields.volumeId },
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
    description: 'One volume of the account, also a deleted one; null when it has no such volume. Needs an API key.',
    args: { id: t.arg.id(ID) },
    resolve: (query, _root, { id }, context) => findVolume(context.deps, accountOf(context), id, query),
  }),
  volumePassword: t.string({
    ...NEEDS_KEY,
    nullable: true,
    description:
      "The password of a volume's repository, which restic needs beside an API key. Needs an API key that may rent.",
    args: { id: t.arg.id(ID) },
    resolve: (_root, { id }, context) => volumePassword(context.deps, accountOf(context), id),
  }),
}));

const VolumeSnapshotInput = builder.inputType('VolumeSnapshotInput', {
  description: "A snapshot of one of the account's volumes.",
  fields: (t) => ({
    volumeId: t.id({ required: true, description: 'Id of the volume.' }),
    snapshotId: t.string({ required: true, ...fromField(fields.snapshotId) }),
  }),
});

const CreateVolumeInput = builder.inputType('CreateVolumeInput', {
  description: 'A new volume.',
  fields: (t) => ({
    name: t.string({ required: true, ...fromField(fields.volumeName) }),
    sizeGb: t.int({ required: true, ...fromField(fields.volumeGb) }),
    fromSnapshot: t.field({
      type: VolumeSnapshotInput,
      description:
        'What it begins with: a volume is put back to one of its moments as a new volume, at least as large. Instances can have it as soon as it is copied.',
    }),
    idempotencyKey: t.string(fromField(fields.idempotencyKey)),
  }),
});

builder.mutationFields((t) => ({
  createVolume: t.field({
    type: VolumeType,
    ...NEEDS_KEY,
    nullable: true,
    description: `Creates a volume, which is billed by the second from now until it is deleted. An account has at most ${MAX_VOLUMES}.`,
    args: { input: t.arg({ type: CreateVolumeInput, required: true, description: 'Its name and size.' }) },
    resolve: (_root, { input }, context) => told(context, createVolume(context.deps, callerOf(context), input)),
  }),
  growVolume: t.field({
    type: VolumeType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Makes a volume larger. It is billed for the new size from the next second on; an instance that has it sees the new size from its next start on.',
    args: {
      id: t.arg.id(ID),
      sizeGb: t.arg.int({ required: true, ...fromField(fields.volumeGb) }),
      idempotencyKey: t.arg.string(fromField(fields.idempotencyKey)),
    },
    resolve: (_root, args, context) => told(context, growVolume(context.deps, callerOf(context), args)),
  }),
  deleteVolume: t.field({
    type: VolumeType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Deletes a volume with all its snapshots. Refused while an instance has it.',
    args: { id: t.arg.id(ID), idempotencyKey: t.arg.string(fromField(fields.idempotencyKey)) },
    resolve: (_root, args, context) => told(context, deleteVolume(context.deps, callerOf(context), args)),
  }),
}));

async function told(context: GatewayContext, change: Promise<VolumeOutcome>) {
  const { volume, replayed } = await change;
  if (replayed) context.onReplayed();
  return volume;
}
