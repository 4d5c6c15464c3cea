import { instanceFields } from '../domain/instances/fields.js';
import { moveInstance } from '../domain/inventory/move-instance.js';
import { commonFields } from '../domain/kernel/fields.js';
import { LEASE_MINUTES_WITHOUT_HEARTBEAT, SAVED_WITHIN_DAYS } from '../domain/kernel/volume-lease.js';
import type { Attachment } from '../domain/volumes/attachment-loader.js';
import { volumeFields } from '../domain/volumes/fields.js';
import { type Release, releaseVolume } from '../domain/volumes/release.js';
import { MAX_ATTACHED } from '../domain/volumes/rules/volume-attachment.js';
import { atMost, builder, fromField, NEEDS_KEY, renamedTo } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { InstanceType, resultOf } from './instances.js';
import { VolumeType } from './volumes.js';

const AttachmentType = builder.objectRef<Attachment>('AttachedVolume').implement({
  description: 'A volume mounted in an instance.',
  fields: (t) => ({
    id: t.id({ description: 'Volume id: `v-` and 8 hex characters.', resolve: ({ volume }) => volume.id }),
    path: t.exposeString('path', { description: 'Mount path in the container.' }),
    sizeGb: t.exposeInt('sizeGb', {
      description:
        'Size in GB as of the last start. If the volume has grown since, the next start applies the new size.',
    }),
    volume: t.expose('volume', { type: VolumeType, description: 'The volume.' }),
    holdsLease: t.exposeBoolean('holds', {
      description:
        "Whether the instance holds the volume's lease: from its start until its last changes are stored. Only the holder of the lease can write the volume.",
    }),
    holds: t.exposeBoolean('holds', renamedTo('holdsLease')),
    saved: t.boolean({
      description:
        'Whether all changes by the instance are stored. False while it holds the lease, or if its host was lost earlier.',
      resolve: ({ holds, lostSince }) => !holds && lostSince === null,
    }),
    lastSnapshotAt: t.expose('lastSnapshotAt', {
      type: 'DateTime',
      nullable: true,
      description: "Time at which the instance's newest snapshot was stored; null before the first.",
    }),
    lostSince: t.expose('lostSince', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time since which changes by the instance are lost, because its host was unreachable for too long or the owner released the volume. Null if nothing was lost.',
    }),
    message: t.exposeString('message', {
      nullable: true,
      description: 'Error message of the host if the last snapshot failed; null otherwise.',
    }),
  }),
});

builder.prismaObjectField(InstanceType, 'volumes', (t) =>
  t.field({
    type: [AttachmentType],
    ...atMost(MAX_ATTACHED),
    description: 'Volumes of the instance, by path.',
    select: { id: true, volumeGb: true },
    // Most instances have no volumes.
    resolve: ({ id, volumeGb }, _args, { deps }) => (volumeGb === 0 ? [] : deps.attachmentLoader.of(id)),
  }),
);

const ReleaseType = builder.objectRef<Release>('VolumeRelease').implement({
  description: 'A volume whose lease was ended by force.',
  fields: (t) => ({
    volumeId: t.exposeID('volumeId', { description: 'The volume, which is free now.' }),
    instanceId: t.exposeID('instanceId', { description: 'The instance that held the lease.' }),
    lostSince: t.expose('lostSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Time since which changes by the instance are lost; null if it never had access.',
    }),
  }),
});

builder.mutationFields((t) => ({
  moveInstance: t.field({
    type: InstanceType,
    ...NEEDS_KEY,
    nullable: true,
    description: `Relaunches the workload of an instance with volumes on the best machine of another host, at the current price, and returns the new instance. The old instance must be stopped, destroyed within the last ${SAVED_WITHIN_DAYS} days, or on a host that has been unreachable for ${LEASE_MINUTES_WITHOUT_HEARTBEAT} minutes; in that case it is stopped. It keeps its own disk until it is destroyed.`,
    args: {
      id: t.arg.id({ required: true, ...fromField(instanceFields.instanceId) }),
      maxPricePerHour: t.arg.float(fromField(instanceFields.maxPricePerHour)),
      idempotencyKey: t.arg.string(fromField(commonFields.idempotencyKey)),
    },
    resolve: async (_root, args, context) =>
      resultOf(context, await moveInstance(context.deps, accountOf(context), args, callerOf(context).keyId)),
  }),
  releaseVolume: t.field({
    type: ReleaseType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      "Releases a volume from an instance that isn't running, even if changes are not saved. Use it if the host is lost or doesn't report that it has finished.",
    args: { id: t.arg.id({ required: true, ...fromField(volumeFields.volumeId) }) },
    resolve: (_root, { id }, context) => releaseVolume(context.deps, accountOf(context), id),
  }),
}));
