import { RUNTIME_SELECT, type Runtime, runtimeOf } from '../domain/fleet/runtime.js';
import { builder } from './builder.js';
import { InstanceType } from './instances.js';

const RuntimePhase = builder.enumType('RuntimePhase', {
  description: "Last reported phase of an instance's container.",
  values: {
    WAITING: { description: 'Its machine has not reported it yet, or another container must end first.' },
    PULLING: { description: 'The image is being pulled.' },
    RESTORING: { description: 'Its volumes are being restored to the machine: pulledBytes of totalBytes are done.' },
    STARTING: { description: 'The container is being created and started.' },
    RUNNING: { description: 'The container is running with its GPUs.' },
    STOPPING: { description: 'The container is being stopped.' },
    SAVING: {
      description: 'The container has ended, and the last changes of its volumes are being stored.',
    },
    STOPPED: { description: 'The container is stopped; its disk is kept.' },
    EXITED: { description: 'The command has ended and is not restarted; its disk is kept.' },
    FAILED: { description: 'The container could not be started; see the message.' },
    UNREACHABLE: { description: 'Its machine is unreachable.' },
    ERASED: { description: 'Container and disk are erased from the machine.' },
  },
});

const RuntimeType = builder.objectRef<Runtime>('InstanceRuntime').implement({
  description: 'The container of an instance, as last reported by its machine.',
  fields: (t) => ({
    phase: t.expose('phase', { type: RuntimePhase, description: 'Last reported phase.' }),
    pulledBytes: t.float({
      nullable: true,
      description: 'Bytes of the image pulled so far; null if unknown.',
      resolve: ({ pulledBytes }) => numberOf(pulledBytes),
    }),
    totalBytes: t.float({
      nullable: true,
      description: 'Total bytes of the image to pull; null if unknown.',
      resolve: ({ totalBytes }) => numberOf(totalBytes),
    }),
    message: t.exposeString('message', { nullable: true, description: 'Message of the container engine.' }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'Exit code of the last run; null if it never ended.',
    }),
    restarts: t.exposeInt('restarts', {
      description: 'Number of automatic restarts since this start.',
    }),
    reachable: t.exposeBoolean('reachable', { description: 'Whether its machine is reachable.' }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last heartbeat of its machine.',
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
    description: 'State of its container; null if its machine has no host agent.',
    select: RUNTIME_SELECT,
    resolve: runtimeOf,
  }),
);
