import { type ApiKey, createApiKey, listApiKeys, revokeApiKey } from '../domain/accounts/api-keys.js';
import { builder, NEEDS_KEY } from './builder.js';
import { accountOf } from './context.js';

const ApiKeyType = builder.prismaObject('ApiKey', {
  description: 'An API key, without its secret.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Key id.' }),
    prefix: t.exposeString('prefix', { description: 'How every key begins.' }),
    lastFour: t.exposeString('lastFour', { description: 'Its last four characters.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true, description: 'Last use, within a minute.' }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'Null while it is accepted.' }),
  }),
});

const CreatedApiKey = builder.objectRef<{ apiKey: ApiKey; secret: string }>('CreatedApiKey').implement({
  description: 'A new key and, this once, its secret.',
  fields: (t) => ({
    apiKey: t.field({ type: ApiKeyType, description: 'The key.', resolve: ({ apiKey }) => apiKey }),
    secret: t.exposeString('secret', { description: 'What to send as Bearer. Shown once: only a hash of it is kept.' }),
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
    description: 'Creates a key of the account.',
    resolve: (_root, _args, context) => createApiKey(context.deps, accountOf(context)),
  }),
  revokeApiKey: t.field({
    type: ApiKeyType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Refuses a key from now on, also the one that asks.',
    args: { id: t.arg.id({ required: true, description: 'Key id.' }) },
    resolve: (_root, { id }, context) => revokeApiKey(context.deps, accountOf(context), id),
  }),
}));
