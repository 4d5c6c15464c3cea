import { RUNTIME_SELECT, type Runtime, runtimeOf } from '../domain/fleet/runtime.js';
import { builder } from './builder.js';
import { InstanceType } from './instances.js';

const RuntimePhase = builder.enumType('RuntimePhase', {
  description: 'What the container of an instance was last seen doing.',
  values: {
    WAITING: { description: 'Its machine has not reported it yet, or another container must end first.' },
    PULLING: { description: 'The image is being fetched.' },
    RESTORING: { description: 'Its volumes are put on the machine: pulledBytes of totalBytes are there.' },
    STARTING: { description: 'The container is being created and started.' },
    RUNNING: { description: 'The container runs with its GPUs.' },
    STOPPING: { description: 'The container is being stopped.' },
    SAVING: {
      description: 'The container has ended; the last changes of its volumes are on their way to the store.',
    },
    STOPPED: { description: 'The container is stopped; its disk is kept.' },
    EXITED: { description: 'The command has ended and is not started again; its disk is kept.' },
    FAILED: { description: 'The container could not be started; the message says why.' },
    UNREACHABLE: { description: 'Its machine is not heard from.' },
    ERASED: { description: 'Container and disk are gone from the machine.' },
  },
});

const RuntimeType = builder.objectRef<Runtime>('InstanceRuntime').implement({
  description: 'The container of an instance, as its machine last reported it.',
  fields: (t) => ({
    phase: t.expose('phase', { type: RuntimePhase, description: 'What it was last seen doing.' }),
    pulledBytes: t.float({
      nullable: true,
      description: 'Bytes of the image fetched so far; null when not known.',
      resolve: ({ pulledBytes }) => numberOf(pulledBytes),
    }),
    totalBytes: t.float({
      nullable: true,
      description: 'Bytes of the image to be fetched; null when not known.',
      resolve: ({ totalBytes }) => numberOf(totalBytes),
    }),
    message: t.exposeString('message', { nullable: true, description: "The container engine's own words." }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'With which it last ended; null while it has not.',
    }),
    restarts: t.exposeInt('restarts', {
      description: 'How often it ended by itself and was restarted within this start.',
    }),
    reachable: t.exposeBoolean('reachable', { description: 'Whether its machine is heard from.' }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When its machine was last heard from.',
    }),
  }),
});

function numberOf(bytes: bigint | null): number | null {
  return bytes === null ? null : Number(bytes);
}

builder.prismaObjectField(InstanceType, 'runtime', (t) =>
  t.field({
    type: RuntimeType,
    nullable: true,
    description: 'What runs for it; null when its machine has no host agent.',
    select: RUNTIME_SELECT,
    resolve: runtimeOf,
  }),
);
