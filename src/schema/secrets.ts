import { fields } from '../domain/fields.js';
import { createSecret, deleteSecret, listSecrets, MAX_SECRETS } from '../domain/secrets/secrets.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';

const SecretKind = builder.enumType('SecretKind', {
  description: 'What a secret is for.',
  values: {
    VALUE: { description: 'A launch gives it to the container, as a variable or as a file.' },
    REGISTRY_LOGIN: { description: 'The password of a login that images are pulled with.' },
  },
});

const SecretType = builder.prismaObject('Secret', {
  description: 'A value that launches name and nobody is shown again.',
  fields: (t) => ({
    name: t.exposeID('name', { description: 'What launches call it.' }),
    kind: t.expose('kind', { type: SecretKind, description: 'What it is for.' }),
    registry: t.exposeString('registry', { nullable: true, description: 'Of a registry login: host of the registry.' }),
    username: t.exposeString('username', { nullable: true, description: 'Of a registry login: user name there.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
});

const SecretInput = builder.inputType('SecretInput', {
  description: 'A secret; with registry and username a registry login, of which the value is the password.',
  fields: (t) => ({
    name: t.string({ required: true, ...fromField(fields.secretName) }),
    value: t.string({ required: true, ...fromField(fields.secretValue) }),
    registry: t.string(fromField(fields.registry)),
    username: t.string(fromField(fields.registryUser)),
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
    description:
      'Deletes a secret. Containers that run keep what they were given; starts that need it fail from now on.',
    args: { name: t.arg.string({ required: true, ...fromField(fields.secretName) }) },
    resolve: (_root, { name }, context) => deleteSecret(context.deps, accountOf(context), name),
  }),
}));
