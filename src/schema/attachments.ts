import { fields } from '../domain/fields.js';
import { moveInstance } from '../domain/inventory/move-instance.js';
import { MAX_ATTACHED } from '../domain/rules/volume-attachment.js';
import type { Attachment } from '../domain/volumes/attachment-loader.js';
import { type Release, releaseVolume } from '../domain/volumes/release.js';
import { atMost, builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { answer, InstanceType } from './instances.js';
import { VolumeType } from './volumes.js';

const AttachmentType = builder.objectRef<Attachment>('AttachedVolume').implement({
  description: 'A volume of an instance.',
  fields: (t) => ({
    id: t.id({ description: 'Of the volume: `v-` and 8 hex characters.', resolve: ({ volume }) => volume.id }),
    path: t.exposeString('path', { description: 'Where its container has it.' }),
    sizeGb: t.exposeInt('sizeGb', {
      description: 'Size in GB since its last start; a volume that has grown since then shows it at the next.',
    }),
    volume: t.expose('volume', { type: VolumeType, description: 'The volume.' }),
    holds: t.exposeBoolean('holds', {
      description:
        'Whether it has the volume: from its start until what it wrote is stored. Nobody else can write it meanwhile.',
    }),
    saved: t.boolean({
      description:
        'Whether all that it wrote is stored. False while it has the volume, and where its host was lost before.',
      resolve: ({ holds, lostSince }) => !holds && lostSince === null,
    }),
    lastSnapshotAt: t.expose('lastSnapshotAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the newest snapshot of what it wrote was stored; null before the first.',
    }),
    lostSince: t.expose('lostSince', {
      type: 'DateTime',
      nullable: true,
      description:
        'What it wrote from then on is lost: its host was silent for too long, or its owner released the volume.',
    }),
    message: t.exposeString('message', {
      nullable: true,
      description: "Why the last snapshot failed, in its host's words; null where it did not.",
    }),
  }),
});

builder.prismaObjectField(InstanceType, 'volumes', (t) =>
  t.field({
    type: [AttachmentType],
    ...atMost(MAX_ATTACHED),
    description: 'Its volumes, by path.',
    select: { id: true, volumeGb: true },
    // Nearly all instances have none.
    resolve: ({ id, volumeGb }, _args, { deps }) => (volumeGb === 0 ? [] : deps.attachmentLoader.of(id)),
  }),
);

const ReleaseType = builder.objectRef<Release>('VolumeRelease').implement({
  description: 'A volume that was taken from an instance.',
  fields: (t) => ({
    volumeId: t.exposeID('volumeId', { description: 'The volume, which is free now.' }),
    instanceId: t.exposeID('instanceId', { description: 'The instance that had it.' }),
    lostSince: t.expose('lostSince', {
      type: 'DateTime',
      nullable: true,
      description: 'What the instance wrote from then on is lost; null where it never had access.',
    }),
  }),
});

builder.mutationFields((t) => ({
  moveInstance: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Goes on elsewhere: rents the best machine on another host for what an instance with volumes ran, at the price of now, and returns the new instance. The old one is stopped, destroyed within 7 days, or on a host that was not heard from for 20 minutes, and then stopped; it keeps its own disk until it is destroyed.',
    args: {
      id: t.arg.id({ required: true, ...fromField(fields.instanceId) }),
      maxPricePerHour: t.arg.float(fromField(fields.maxPricePerHour)),
      idempotencyKey: t.arg.string(fromField(fields.idempotencyKey)),
    },
    resolve: async (_root, args, context) =>
      answer(context, await moveInstance(context.deps, accountOf(context), args, callerOf(context).keyId)),
  }),
  releaseVolume: t.field({
    type: ReleaseType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Takes a volume from an instance that does not run, whatever it has not saved: for a host that does not come back, or does not say that it is done.',
    args: { id: t.arg.id({ required: true, ...fromField(fields.volumeId) }) },
    resolve: (_root, { id }, context) => releaseVolume(context.deps, accountOf(context), id),
  }),
}));
