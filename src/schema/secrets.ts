import { secretFields } from '../domain/secrets/fields.js';
import { createSecret, deleteSecret, listSecrets, MAX_SECRETS } from '../domain/secrets/secrets.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';

const SecretKind = builder.enumType('SecretKind', {
  description: 'Purpose of a secret.',
  values: {
    VALUE: { description: 'A launch passes it to the container, as a variable or as a file.' },
    REGISTRY_LOGIN: { description: 'The password for pulling images from a registry.' },
  },
});

const SecretType = builder.prismaObject('Secret', {
  description: 'A stored value that launches refer to by name. It is never shown again.',
  fields: (t) => ({
    name: t.exposeID('name', { description: 'Name that launches use.' }),
    kind: t.expose('kind', { type: SecretKind, description: 'Purpose of the secret.' }),
    registry: t.exposeString('registry', {
      nullable: true,
      description: 'Host of the registry; null unless it is a registry login.',
    }),
    username: t.exposeString('username', {
      nullable: true,
      description: 'User name at the registry; null unless it is a registry login.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of creation.' }),
  }),
});

const SecretInput = builder.inputType('SecretInput', {
  description: 'A secret. With registry and username it is a registry login, and the value is the password.',
  fields: (t) => ({
    name: t.string({ required: true, ...fromField(secretFields.secretName) }),
    value: t.string({ required: true, ...fromField(secretFields.secretValue) }),
    registry: t.string(fromField(secretFields.registry)),
    username: t.string(fromField(secretFields.registryUser)),
  }),
});

builder.queryFields((t) => ({
  secrets: t.prismaField({
    type: [SecretType],
    ...NEEDS_KEY,
    nullable: true,
    description: "The account's secrets by name, without their values. Needs an API key.",
    resolve: (query, _root, _args, context) => listSecrets(context.deps, accountOf(context), query),
  }),
}));

builder.mutationFields((t) => ({
  createSecret: t.field({
    type: SecretType,
    ...NEEDS_KEY,
    nullable: true,
    description: `Stores a secret, encrypted. Its value is never shown again. At most ${MAX_SECRETS}.`,
    args: { input: t.arg({ type: SecretInput, required: true, description: 'The secret.' }) },
    resolve: (_root, { input }, context) => createSecret(context.deps, accountOf(context), input),
  }),
  deleteSecret: t.field({
    type: SecretType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Deletes a secret. Running containers keep it; later starts that need it fail.',
    args: { name: t.arg.string({ required: true, ...fromField(secretFields.secretName) }) },
    resolve: (_root, { name }, context) => deleteSecret(context.deps, accountOf(context), name),
  }),
}));
