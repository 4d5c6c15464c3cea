import { accountFields } from '../domain/accounts/fields.js';
import { formatSshKey } from '../domain/accounts/rules/ssh-key.js';
import { addSshKey, listSshKeys, removeSshKey } from '../domain/accounts/ssh-keys.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { InstanceType } from './instances.js';

const SshKeyType = builder.prismaObject('SshKey', {
  description: "A public key that grants SSH access to the account's instances.",
  fields: (t) => ({
    id: t.exposeID('id', { description: 'SSH key id.' }),
    type: t.exposeString('type', { description: 'Type, such as ssh-ed25519.' }),
    fingerprint: t.exposeString('fingerprint', {
      description: 'Fingerprint as shown by `ssh-keygen -l`: `SHA256:` and base64.',
    }),
    comment: t.exposeString('comment', { description: 'Text after the key in its file, usually a name.' }),
    publicKey: t.string({
      description: 'The whole line, as in a .pub file.',
      select: { type: true, blob: true, comment: true },
      resolve: ({ type, blob, comment }) => formatSshKey({ type, blob: Buffer.from(blob), comment }),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which it was added.' }),
    instanceId: t.exposeID('instanceId', {
      nullable: true,
      description: 'The only instance to which it grants access; the key is removed with it. Null for all instances.',
    }),
  }),
});

interface SshAddress {
  user: string;
  host: string;
  port: number;
  hostKey: string;
}

const SshAddressType = builder.objectRef<SshAddress>('SshAddress').implement({
  description: 'Address for SSH access to an instance.',
  fields: (t) => ({
    command: t.string({
      description: 'Command to type.',
      resolve: ({ user, host, port }) => `ssh -p ${port} ${user}@${host}`,
    }),
    rootCommand: t.string({
      description:
        "Command to type for a shell as root, regardless of the container's user. Any other user of the container can replace root in it.",
      resolve: ({ user, host, port }) => `ssh -p ${port} root@${user}@${host}`,
    }),
    user: t.exposeString('user', {
      description:
        'User name: the id of the instance. Put root@, or another user of the container and @, before it to log in as that user.',
    }),
    host: t.exposeString('host', { description: 'Host name.' }),
    port: t.exposeInt('port', { description: 'Port.' }),
    hostKey: t.exposeString('hostKey', {
      description: "The host's public key, as in known_hosts after the host name. It is the same for all instances.",
    }),
  }),
});

builder.prismaObjectField(InstanceType, 'ssh', (t) =>
  t.field({
    type: SshAddressType,
    nullable: true,
    description: "Address for SSH access with one of the account's SSH keys; null if the service offers no SSH.",
    select: { id: true },
    resolve: ({ id }, _args, { deps }) => (deps.settings.ssh === null ? null : { user: id, ...deps.settings.ssh }),
  }),
);

builder.queryFields((t) => ({
  sshKeys: t.prismaField({
    type: [SshKeyType],
    ...NEEDS_KEY,
    nullable: true,
    description: "Public keys that grant SSH access to the account's instances, newest first. Needs an API key.",
    resolve: (query, _root, _args, context) => listSshKeys(context.deps, accountOf(context), query),
  }),
}));

builder.mutationFields((t) => ({
  addSshKey: t.field({
    type: SshKeyType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Adds a public key. If the account already has it, it is returned unchanged. At most 50.',
    args: {
      publicKey: t.arg.string({ required: true, ...fromField(accountFields.sshPublicKey) }),
      instanceId: t.arg.id({
        description:
          'The only instance to which it grants access. The key is removed when that instance is destroyed. If omitted: all instances.',
      }),
    },
    resolve: (_root, { publicKey, instanceId }, context) =>
      addSshKey(context.deps, callerOf(context), publicKey, instanceId),
  }),
  removeSshKey: t.field({
    type: SshKeyType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Removes a public key and ends the connections opened with it.',
    args: { id: t.arg.id({ required: true, description: 'SSH key id.' }) },
    resolve: (_root, { id }, context) => removeSshKey(context.deps, accountOf(context), id),
  }),
}));
