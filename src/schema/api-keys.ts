import { type ApiKey, createApiKeyOnce, listApiKeys, revokeApiKey } from '../domain/accounts/api-keys.js';
import { fields } from '../domain/fields.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';
import { Node } from './node.js';

const ApiKeyType = builder.prismaObject('ApiKey', {
  interfaces: [Node],
  description: 'An API key, without its secret.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Key id.' }),
    name: t.exposeString('name', { nullable: true, description: 'What its owner calls it; null without a name.' }),
    isCurrent: t.boolean({
      description: 'Whether it is the key of this request, or of the console session that made it.',
      resolve: ({ id }, _args, { caller }) => caller?.keyId === id,
    }),
    prefix: t.exposeString('prefix', { description: 'The first characters, the same for every key.' }),
    lastFour: t.exposeString('lastFour', { description: 'Its last four characters.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Last use, accurate to a minute.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was revoked; null while it is accepted.',
    }),
  }),
});

const CreatedApiKey = builder.objectRef<{ apiKey: ApiKey; secret: string | null }>('CreatedApiKey').implement({
  description: 'A new key with its secret, which is shown only once.',
  fields: (t) => ({
    apiKey: t.field({ type: ApiKeyType, description: 'The key.', resolve: ({ apiKey }) => apiKey }),
    secret: t.exposeString('secret', {
      nullable: true,
      description:
        'The Bearer token. It is shown only once: the service stores only its hash. Null in the answer to a request that repeats an idempotency key; who lost the first answer revokes the key and creates another.',
    }),
  }),
});

builder.queryFields((t) => ({
  apiKeys: t.prismaField({
    type: [ApiKeyType],
    ...NEEDS_KEY,
    nullable: true,
    description: "The account's keys, newest first. Needs an API key.",
    resolve: (query, _root, _args, context) => listApiKeys(context.deps, accountOf(context), query),
  }),
}));

builder.mutationFields((t) => ({
  createApiKey: t.field({
    type: CreatedApiKey,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Creates an API key for the account.',
    args: {
      name: t.arg.string(fromField(fields.keyName)),
      idempotencyKey: t.arg.string(fromField(fields.idempotencyKey)),
    },
    resolve: async (_root, input, context) => {
      const created = await createApiKeyOnce(context.deps, accountOf(context), input);
      if (created.secret === null) context.onReplayed();
      return created;
    },
  }),
  revokeApiKey: t.field({
    type: ApiKeyType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Revokes a key, which may be the key of this request: it is refused from now on.',
    args: { id: t.arg.id({ required: true, description: 'Key id.' }) },
    resolve: (_root, { id }, context) => revokeApiKey(context.deps, accountOf(context), id),
  }),
}));
