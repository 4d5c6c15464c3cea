import { instanceFields, MAX_LAUNCH_PORTS, MAX_LAUNCH_SECRETS } from '../domain/instances/fields.js';
import { MAX_TCP_PORTS } from '../domain/instances/rules/tcp-ports.js';

import type { Launch, LaunchPort, LaunchSecret } from '../domain/kernel/launch.js';
import { checkScope } from '../domain/kernel/scopes.js';
import { atMost, builder, fromField } from './builder.js';
import { callerOf, type GatewayContext } from './context.js';

const RestartPolicy = builder.enumType('RestartPolicy', {
  description: 'When to restart a command that has ended.',
  values: {
    ALWAYS: { description: 'After every exit.' },
    ON_FAILURE: { description: 'If the exit code is not 0.' },
    NEVER: { description: 'Never.' },
  },
});

const ExitAction = builder.enumType('ExitAction', {
  description: "Action on an instance whose command has ended and isn't restarted.",
  values: {
    KEEP: { description: 'Keep it running and billed.' },
    STOP: { description: 'Stop it. The disk is kept and billed.' },
    DESTROY: { description: 'Destroy it.' },
  },
});

const LaunchSecretInput = builder.inputType('LaunchSecretInput', {
  description: 'A secret passed to the container, as a variable or as a file.',
  fields: (t) => ({
    secret: t.string({ required: true, description: 'Name of the secret.' }),
    variable: t.string({ description: 'Name of the variable.' }),
    file: t.string({ description: 'Name of the file below /run/secrets.' }),
  }),
});

const LaunchPortInput = builder.inputType('LaunchPortInput', {
  description: 'A port on which a program in the container serves HTTP.',
  fields: (t) => ({
    port: t.int({ required: true, description: 'Port in the container.' }),
    name: t.string({ description: 'Display name, such as JupyterLab.' }),
  }),
});

export const LaunchInput = builder.inputType('LaunchInput', {
  description: 'Launch settings in addition to template and disk.',
  fields: (t) => ({
    name: t.string(fromField(instanceFields.launchName)),
    env: t.field({ type: 'Variables', ...fromField(instanceFields.env) }),
    secrets: t.field({ type: [LaunchSecretInput], ...fromField(instanceFields.launchSecrets) }),
    entrypoint: t.stringList(fromField(instanceFields.entrypoint)),
    command: t.stringList(fromField(instanceFields.command)),
    ports: t.field({ type: [LaunchPortInput], ...fromField(instanceFields.launchPorts) }),
    tcpPorts: t.intList(fromField(instanceFields.tcpPorts)),
    registryLogin: t.string(fromField(instanceFields.registryLogin)),
    user: t.string(fromField(instanceFields.containerUser)),
    restart: t.field({ type: RestartPolicy, ...fromField(instanceFields.restart) }),
    onExit: t.field({ type: ExitAction, ...fromField(instanceFields.onExit) }),
  }),
});

export const VolumeAtPathInput = builder.inputType('VolumeAtPathInput', {
  description: 'A volume of the account, with its mount path in the container.',
  fields: (t) => ({
    id: t.id({ required: true, description: '`v-` and 8 hexadecimal digits.' }),
    path: t.string({ required: true, description: 'Absolute path in the container, such as /data.' }),
  }),
});

const LaunchSecretType = builder.objectRef<LaunchSecret>('LaunchSecret').implement({
  description: 'A secret passed to the container.',
  fields: (t) => ({
    secret: t.exposeString('secret', { description: 'Name of the secret.' }),
    variable: t.exposeString('variable', { nullable: true, description: 'Name of the variable; null for a file.' }),
    file: t.exposeString('file', { nullable: true, description: 'Name below /run/secrets; null for a variable.' }),
  }),
});

const LaunchPortType = builder.objectRef<LaunchPort>('LaunchPort').implement({
  description: 'A port on which a program in the container serves HTTP.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'Port in the container.' }),
    name: t.exposeString('name', { nullable: true, description: 'Display name.' }),
  }),
});

export const LaunchType = builder.objectRef<Launch>('Launch').implement({
  description: 'Launch settings given by the renter, in addition to template and disk. Secrets are shown only by name.',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: "The renter's name for the instance." }),
    env: t.field({ type: 'Variables', description: 'Variables by name.', resolve: ({ env }) => env ?? {} }),
    secrets: t.field({
      type: [LaunchSecretType],
      ...atMost(MAX_LAUNCH_SECRETS),
      description: 'Secrets.',
      resolve: ({ secrets }) => secrets ?? [],
    }),
    entrypoint: t.exposeStringList('entrypoint', {
      nullable: true,
      description: "Entrypoint; null for the image's own.",
    }),
    command: t.exposeStringList('command', {
      nullable: true,
      description: 'Command; null for that of the template or image.',
    }),
    ports: t.field({
      type: [LaunchPortType],
      ...atMost(MAX_LAUNCH_PORTS),
      description: 'Ports.',
      resolve: ({ ports }) => ports ?? [],
    }),
    tcpPorts: t.intList({
      ...atMost(MAX_TCP_PORTS),
      description: 'TCP ports.',
      resolve: ({ tcpPorts }) => tcpPorts ?? [],
    }),
    registryLogin: t.exposeString('registryLogin', { nullable: true, description: 'Name of the registry login.' }),
    user: t.exposeString('user', { nullable: true, description: "User of the container; null for the image's own." }),
    restart: t.field({
      type: RestartPolicy,
      description: 'When to restart the command.',
      resolve: ({ restart }) => restart ?? 'ALWAYS',
    }),
    onExit: t.field({
      type: ExitAction,
      description: 'Action when the command ends.',
      resolve: ({ onExit }) => onExit ?? 'KEEP',
    }),
  }),
});

/** Returns the account for a rental. Throws forbidden if the launch names secrets that the key may not use. */
export function accountForRental(
  context: GatewayContext,
  { launch }: { launch?: typeof LaunchInput.$inferInput | null },
): string {
  const { accountId, scopes } = callerOf(context);
  const names = (launch?.secrets?.length ?? 0) > 0 || (launch?.registryLogin ?? null) !== null;
  if (names) checkScope(scopes, 'launch with secrets');
  return accountId;
}
