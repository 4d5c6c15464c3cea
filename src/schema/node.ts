import { accountState } from '../domain/accounts/accounts.js';
import { findApiKey } from '../domain/accounts/api-keys.js';
import { findInstance } from '../domain/instances/instances.js';
import { findGpuModel, findRegion, findTemplate } from '../domain/inventory/catalogue.js';
import { checkScope } from '../domain/kernel/scopes.js';
import { findTopUp } from '../domain/top-ups/top-ups.js';
import { findVolume } from '../domain/volumes/volumes.js';
import { builder, COUNTS_WITH_KEY } from './builder.js';
import { callerOf, type GatewayContext } from './context.js';

/** A row and the name of its type. */
interface NodeValue {
  __typename: string;
}

/**
 * Finds a node by its id and by the part after the prefix. Returns null if it doesn't exist or belongs to another
 * account.
 */
type Find = (context: GatewayContext, id: string, name: string) => Promise<object | null>;

/**
 * The kinds of nodes. Ids shown in the contract start with a prefix for their type. If a type is identified by a slug,
 * its ids consist of the prefix and the slug.
 */
const KINDS: readonly { prefix: string; type: string; find: Find }[] = [
  { prefix: 'i-', type: 'Instance', find: (context, id) => findInstance(context.deps, readerOf(context), id) },
  { prefix: 'acc-', type: 'Account', find: findAccount },
  { prefix: 'key-', type: 'ApiKey', find: (context, id) => findApiKey(context.deps, readerOf(context), id) },
  { prefix: 't-', type: 'TopUp', find: (context, id) => findTopUp(context.deps, readerOf(context), id) },
  { prefix: 'v-', type: 'Volume', find: (context, id) => findVolume(context.deps, readerOf(context), id) },
  { prefix: 'gpu:', type: 'GpuModel', find: ({ deps }, _id, slug) => findGpuModel(deps, slug) },
  { prefix: 'region:', type: 'Region', find: ({ deps }, _id, code) => findRegion(deps, code) },
  { prefix: 'template:', type: 'Template', find: ({ deps }, _id, slug) => findTemplate(deps, slug) },
];

export const Node = builder.interfaceRef<object>('Node').implement({
  description: 'An object that can be read again by its id.',
  fields: (t) => ({
    id: t.id({
      description: 'Id that is unique among all nodes.',
      resolve: (value) => (value as { id: string }).id,
    }),
  }),
  resolveType: (value) => (value as NodeValue).__typename,
});

builder.queryFields((t) => ({
  node: t.field({
    type: Node,
    ...COUNTS_WITH_KEY,
    nullable: true,
    description:
      "A node by its id; null if it doesn't exist or belongs to another account. Objects of an account need an API key; the others are public.",
    args: { id: t.arg.id({ required: true, description: 'Id of any node.' }) },
    resolve: async (_root, { id }, context) => {
      const kind = KINDS.find(({ prefix }) => id.startsWith(prefix));
      if (kind === undefined) return null;
      const found = await kind.find(context, id, id.slice(kind.prefix.length));
      return found && { ...found, __typename: kind.type };
    },
  }),
}));

async function findAccount(context: GatewayContext, id: string) {
  return id === readerOf(context) ? accountState(context.deps, id) : null;
}

function readerOf(context: GatewayContext): string {
  const { accountId, scopes } = callerOf(context);
  checkScope(scopes, 'node of an account');
  return accountId;
}
