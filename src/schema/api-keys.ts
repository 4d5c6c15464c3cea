import { type ApiKey, createApiKeyOnce, listApiKeys, revokeApiKey } from '../domain/accounts/api-keys.js';
import { type KeyLimit, type KeySpend, keySpend, setKeyLimit } from '../domain/accounts/monthly-limits.js';
import type { Deps } from '../domain/deps.js';
import { fields } from '../domain/fields.js';
import { SCOPE_MEANINGS, SCOPES, type Scope } from '../domain/rules/scopes.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { Node } from './node.js';

const KeyScope = builder.enumType('KeyScope', {
  description: 'What an API key may do.',
  values: Object.fromEntries(
    SCOPES.map((scope) => [scope.toUpperCase(), { value: scope, description: `May ${SCOPE_MEANINGS[scope]}.` }]),
  ) as Record<Uppercase<Scope>, { value: Scope; description: string }>,
});

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
    scopes: t.field({
      type: [KeyScope],
      nullable: true,
      select: { scopes: true },
      description: 'What it may do; null: everything.',
      resolve: ({ scopes }) => (scopes.length === 0 ? null : (scopes as Scope[])),
    }),
    networks: t.stringList({
      nullable: true,
      select: { networks: true },
      description: 'The only networks that it is accepted from; null: all.',
      resolve: ({ networks }) => (networks.length === 0 ? null : networks),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'From this second on it is refused; null for never.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Last use, accurate to a minute.',
    }),
    monthlyLimit: t.field({
      type: 'USD',
      nullable: true,
      description: 'What may be spent by it in a UTC calendar month; null for no limit.',
      select: { limit: true },
      resolve: ({ limit }) => limit?.monthlyLimit,
    }),
    monthSpend: t.field({
      type: 'USD',
      nullable: true,
      description:
        'Of a key with a limit: what was spent by it this month, on GPUs of what it deployed or started, disks of what it deployed, and volumes that it created or made larger.',
      select: { limit: true },
      resolve: ({ limit }, _args, { deps }) => spendUnder(deps, limit)?.monthSpend,
    }),
    limitReachedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'The second at which monthlyLimit was reached this month, or will be at the present rates: what it deployed or started last stops then. Null when never.',
      select: { limit: true },
      resolve: ({ limit }, _args, { deps }) => spendUnder(deps, limit)?.limitReachedAt,
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was revoked; null while it is accepted.',
    }),
  }),
});

function spendUnder(deps: Deps, limit: KeyLimit | null): KeySpend | null {
  return limit === null || limit.monthlyLimit === null ? null : keySpend(deps, limit);
}

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
    description: 'Creates an API key for the account, of no more power than the key that asks.',
    args: {
      name: t.arg.string(fromField(fields.keyName)),
      scopes: t.arg({ type: [KeyScope], ...fromField(fields.keyScopes) }),
      expiresAt: t.arg.string(fromField(fields.keyExpiresAt)),
      networks: t.arg.stringList(fromField(fields.keyNetworks)),
      monthlyLimit: t.arg.float(fromField(fields.monthlyLimit)),
      idempotencyKey: t.arg.string(fromField(fields.idempotencyKey)),
    },
    resolve: async (_root, input, context) => {
      const created = await createApiKeyOnce(context.deps, callerOf(context), input);
      if (created.secret === null) context.onReplayed();
      return created;
    },
  }),
  setApiKeyLimit: t.field({
    type: ApiKeyType,
    ...NEEDS_KEY,
    nullable: true,
    description:
      'Sets what may be spent by a key in a UTC calendar month; null or left out takes the limit away. One that is passed already stops what it runs with this second. A higher one starts nothing. Refused for an API key that has a limit itself.',
    args: {
      id: t.arg.id({ required: true, description: 'Key id.' }),
      monthlyLimit: t.arg.float(fromField(fields.monthlyLimit)),
    },
    resolve: (_root, { id, monthlyLimit }, context) =>
      setKeyLimit(context.deps, callerOf(context), { id, monthlyLimit }),
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
