import { type ApiKey, createApiKeyOnce, listApiKeys, revokeApiKey } from '../domain/accounts/api-keys.js';
import { accountFields } from '../domain/accounts/fields.js';
import { type KeyLimit, type KeySpend, keySpend, setKeyLimit } from '../domain/accounts/monthly-limits.js';
import type { KernelDeps } from '../domain/kernel/deps.js';
import { commonFields } from '../domain/kernel/fields.js';
import { SCOPE_MEANINGS, SCOPES, type Scope } from '../domain/kernel/scopes.js';
import { builder, fromField, NEEDS_KEY } from './builder.js';
import { accountOf, callerOf } from './context.js';
import { Node } from './node.js';

const KeyScope = builder.enumType('KeyScope', {
  description: 'A permission of an API key.',
  values: Object.fromEntries(
    SCOPES.map((scope) => [scope.toUpperCase(), { value: scope, description: `May ${SCOPE_MEANINGS[scope]}.` }]),
  ) as Record<Uppercase<Scope>, { value: Scope; description: string }>,
});

const ApiKeyType = builder.prismaObject('ApiKey', {
  interfaces: [Node],
  description: 'An API key, without its secret.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the key.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'Name that the owner gave the key; null if it has none.',
    }),
    isCurrent: t.boolean({
      description: 'Whether this request uses the key, or a console session created with it.',
      resolve: ({ id }, _args, { caller }) => caller?.keyId === id,
    }),
    prefix: t.exposeString('prefix', { description: 'First characters, which are the same for every key.' }),
    lastFour: t.exposeString('lastFour', { description: 'Last four characters.' }),
    scopes: t.field({
      type: [KeyScope],
      nullable: true,
      select: { scopes: true },
      description: 'Permissions of the key; null for all.',
      resolve: ({ scopes }) => (scopes.length === 0 ? null : (scopes as Scope[])),
    }),
    networks: t.stringList({
      nullable: true,
      select: { networks: true },
      description: 'Networks from which the key is accepted; null for all.',
      resolve: ({ networks }) => (networks.length === 0 ? null : networks),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The second from which the key is refused; null for never.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of creation.' }),
    lastUsedAt: t.expose('lastUsedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the last use, accurate to a minute.',
    }),
    revokedAt: t.expose('revokedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of revocation; null while the key is accepted.',
    }),
  }),
});

// The key's monthly limit and its spend under that limit.
builder.prismaObjectFields(ApiKeyType, (t) => ({
  monthlyLimit: t.field({
    type: 'USD',
    nullable: true,
    description: 'Maximum spend of the key in a UTC calendar month; null for no limit.',
    select: { limit: true },
    resolve: ({ limit }) => limit?.monthlyLimit,
  }),
  monthSpend: t.field({
    type: 'USD',
    nullable: true,
    description:
      'Spend of the key this month: GPUs of instances it deployed or last started, disks of instances it deployed, and volumes it created or grew. Null for a key without a limit.',
    select: { limit: true },
    resolve: ({ limit }, _args, { deps }) => spendUnder(deps, limit)?.monthSpend,
  }),
  limitReachedAt: t.field({
    type: 'DateTime',
    nullable: true,
    description:
      "The second in which monthlyLimit was reached this month, or will be reached at the current rates. Instances that the key deployed or last started stop then. Null if it won't be reached.",
    select: { limit: true },
    resolve: ({ limit }, _args, { deps }) => spendUnder(deps, limit)?.limitReachedAt,
  }),
}));

function spendUnder(deps: Pick<KernelDeps, 'clock'>, limit: KeyLimit | null): KeySpend | null {
  return limit === null || limit.monthlyLimit === null ? null : keySpend(deps, limit);
}

const CreatedApiKey = builder.objectRef<{ apiKey: ApiKey; secret: string | null }>('CreatedApiKey').implement({
  description: 'A new key with its secret, which is shown only once.',
  fields: (t) => ({
    apiKey: t.field({ type: ApiKeyType, description: 'The key.', resolve: ({ apiKey }) => apiKey }),
    secret: t.exposeString('secret', {
      nullable: true,
      description:
        'The Bearer token. It is shown only once, because the service stores only its hash. Null when a request repeats an idempotency key. If you lost the first response, revoke the key and create another.',
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
    description:
      "Creates an API key for the account. It can't have more permissions than the key used for the request.",
    args: {
      name: t.arg.string(fromField(accountFields.keyName)),
      scopes: t.arg({ type: [KeyScope], ...fromField(accountFields.keyScopes) }),
      expiresAt: t.arg.string(fromField(accountFields.keyExpiresAt)),
      networks: t.arg.stringList(fromField(accountFields.keyNetworks)),
      monthlyLimit: t.arg.float(fromField(accountFields.monthlyLimit)),
      idempotencyKey: t.arg.string(fromField(commonFields.idempotencyKey)),
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
      "Sets the maximum spend of a key in a UTC calendar month. Omit it or pass null to remove the limit. If spend has already passed the limit, the key's running instances stop immediately. Raising the limit doesn't start any. Refused for an API key that has its own limit.",
    args: {
      id: t.arg.id({ required: true, description: 'Id of the key.' }),
      monthlyLimit: t.arg.float(fromField(accountFields.monthlyLimit)),
    },
    resolve: (_root, { id, monthlyLimit }, context) =>
      setKeyLimit(context.deps, callerOf(context), { id, monthlyLimit }),
  }),
  revokeApiKey: t.field({
    type: ApiKeyType,
    ...NEEDS_KEY,
    nullable: true,
    description: 'Revokes a key, which can be the key of this request. It is refused starting now.',
    args: { id: t.arg.id({ required: true, description: 'Id of the key.' }) },
    resolve: (_root, { id }, context) => revokeApiKey(context.deps, accountOf(context), id),
  }),
}));
