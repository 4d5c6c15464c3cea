import { z } from 'zod';
import { entry, entryText, type Field, once, text, wholeNumber } from '../kernel/field.js';
import { MAX_VOLUME_GB, MAX_VOLUME_NAME, VOLUME_ID } from '../kernel/volume.js';
import { MAX_ATTACHED, type VolumeAtPath, volumePathFault } from './rules/volume-attachment.js';

export const volumeFields = {
  volumes: {
    schema: z
      .array(entry({ id: entryText(VOLUME_ID, 'a volume id: v- and 8 hexadecimal digits'), path: volumePath() }))
      .max(MAX_ATTACHED)
      .superRefine(once('id'))
      .superRefine(once('path')) as z.ZodType<VolumeAtPath[]>,
    must: `a list of at most ${MAX_ATTACHED} volumes, each with its id and its own path such as /data`,
    description:
      "Volumes of the account to mount in the container, each at its path. A volume can be in one instance at a time. A volume at /workspace replaces that folder of the instance's own disk.",
  },
  volumeName: text(1, MAX_VOLUME_NAME, "Your name for the volume; doesn't have to be unique."),
  volumeGb: wholeNumber(1, MAX_VOLUME_GB, 'Size of the volume in GB. A volume can grow but not shrink.'),
  volumeId: {
    schema: z.string(),
    must: 'a string',
    description: 'Volume id: `v-` and 8 hex characters. Any other string is an unknown volume.',
  },
  snapshotId: {
    schema: z.string().regex(/^[0-9a-f]{64}$/),
    must: '64 hexadecimal digits',
    description: "restic's id of a snapshot: 64 hex characters.",
  },
} satisfies Record<string, Field<unknown>>;

function volumePath(): z.ZodType<string> {
  const text = z.string('must be a path such as /data');
  return text.superRefine((path, context) => {
    const fault = volumePathFault(path);
    if (fault !== null) context.addIssue({ code: 'custom', message: `must ${fault}` });
  });
}
