import { fields, MAX_LAUNCH_PORTS, MAX_LAUNCH_SECRETS } from '../domain/fields.js';
import type { Launch, LaunchPort, LaunchSecret } from '../domain/rules/launch.js';
import { checkScope } from '../domain/rules/scopes.js';
import { MAX_TCP_PORTS } from '../domain/rules/tcp-ports.js';
import { atMost, builder, fromField } from './builder.js';
import { callerOf, type GatewayContext } from './context.js';

const RestartPolicy = builder.enumType('RestartPolicy', {
  description: 'When a command that ended is started again.',
  values: {
    ALWAYS: { description: 'Each time.' },
    ON_FAILURE: { description: 'When its exit code is not 0.' },
    NEVER: { description: 'Not at all.' },
  },
});

const ExitAction = builder.enumType('ExitAction', {
  description: 'What becomes of an instance whose command has ended and is not started again.',
  values: {
    KEEP: { description: 'It goes on running, and is billed.' },
    STOP: { description: 'It is stopped: the disk is kept and billed.' },
    DESTROY: { description: 'It is destroyed.' },
  },
});

const LaunchSecretInput = builder.inputType('LaunchSecretInput', {
  description: 'A secret that the container gets, as a variable or as a file.',
  fields: (t) => ({
    secret: t.string({ required: true, description: 'Name of the secret.' }),
    variable: t.string({ description: 'Name of the variable.' }),
    file: t.string({ description: 'Name of the file below /run/secrets.' }),
  }),
});

const LaunchPortInput = builder.inputType('LaunchPortInput', {
  description: 'A port that a program in the container serves HTTP on.',
  fields: (t) => ({
    port: t.int({ required: true, description: 'Port in the container.' }),
    name: t.string({ description: 'Its name for people, such as JupyterLab.' }),
  }),
});

export const LaunchInput = builder.inputType('LaunchInput', {
  description: 'What runs, beside template and disk.',
  fields: (t) => ({
    name: t.string(fromField(fields.launchName)),
    env: t.field({ type: 'Variables', ...fromField(fields.env) }),
    secrets: t.field({ type: [LaunchSecretInput], ...fromField(fields.launchSecrets) }),
    entrypoint: t.stringList(fromField(fields.entrypoint)),
    command: t.stringList(fromField(fields.command)),
    ports: t.field({ type: [LaunchPortInput], ...fromField(fields.launchPorts) }),
    tcpPorts: t.intList(fromField(fields.tcpPorts)),
    registryLogin: t.string(fromField(fields.registryLogin)),
    restart: t.field({ type: RestartPolicy, ...fromField(fields.restart) }),
    onExit: t.field({ type: ExitAction, ...fromField(fields.onExit) }),
  }),
});

export const VolumeAtPathInput = builder.inputType('VolumeAtPathInput', {
  description: 'A volume of the account, and where the container has it.',
  fields: (t) => ({
    id: t.id({ required: true, description: '`v-` and 8 hexadecimal digits.' }),
    path: t.string({ required: true, description: 'Absolute path in the container, such as /data.' }),
  }),
});

const LaunchSecretType = builder.objectRef<LaunchSecret>('LaunchSecret').implement({
  description: 'A secret that the container gets.',
  fields: (t) => ({
    secret: t.exposeString('secret', { description: 'Name of the secret.' }),
    variable: t.exposeString('variable', { nullable: true, description: 'Name of the variable; null for a file.' }),
    file: t.exposeString('file', { nullable: true, description: 'Name below /run/secrets; null for a variable.' }),
  }),
});

const LaunchPortType = builder.objectRef<LaunchPort>('LaunchPort').implement({
  description: 'A port that a program in the container serves HTTP on.',
  fields: (t) => ({
    port: t.exposeInt('port', { description: 'Port in the container.' }),
    name: t.exposeString('name', { nullable: true, description: 'Its name for people.' }),
  }),
});

export const LaunchType = builder.objectRef<Launch>('Launch').implement({
  description: 'What its renter launched, beside template and disk. A secret is shown by its name alone.',
  fields: (t) => ({
    name: t.exposeString('name', { nullable: true, description: 'What its renter calls the instance.' }),
    env: t.field({ type: 'Variables', description: 'Variables by name.', resolve: ({ env }) => env ?? {} }),
    secrets: t.field({
      type: [LaunchSecretType],
      ...atMost(MAX_LAUNCH_SECRETS),
      description: 'Secrets.',
      resolve: ({ secrets }) => secrets ?? [],
    }),
    entrypoint: t.exposeStringList('entrypoint', { nullable: true, description: "Null: the image's own." }),
    command: t.exposeStringList('command', {
      nullable: true,
      description: "Null: the template's, or the image's own.",
    }),
    ports: t.field({
      type: [LaunchPortType],
      ...atMost(MAX_LAUNCH_PORTS),
      description: 'Ports.',
      resolve: ({ ports }) => ports ?? [],
    }),
    tcpPorts: t.intList({
      ...atMost(MAX_TCP_PORTS),
      description: 'Ports reached by TCP.',
      resolve: ({ tcpPorts }) => tcpPorts ?? [],
    }),
    registryLogin: t.exposeString('registryLogin', { nullable: true, description: 'Name of the registry login.' }),
    restart: t.field({
      type: RestartPolicy,
      description: 'When the command is started again.',
      resolve: ({ restart }) => restart ?? 'ALWAYS',
    }),
    onExit: t.field({
      type: ExitAction,
      description: 'What becomes of the instance at the end of the command.',
      resolve: ({ onExit }) => onExit ?? 'KEEP',
    }),
  }),
});

/** The account that a rental is for. Refuses with forbidden a launch that names secrets, by a key that may not read them. */
export function renterOf(
  context: GatewayContext,
  { launch }: { launch?: typeof LaunchInput.$inferInput | null },
): string {
  const { accountId, scopes } = callerOf(context);
  const names = (launch?.secrets?.length ?? 0) > 0 || (launch?.registryLogin ?? null) !== null;
  if (names) checkScope(scopes, 'launch with secrets');
  return accountId;
}
