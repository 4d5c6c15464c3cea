import { accountState } from '../domain/accounts/accounts.js';
import { findApiKey } from '../domain/accounts/api-keys.js';
import { findInstance } from '../domain/instances/instances.js';
import { findGpuModel, findRegion, findTemplate } from '../domain/inventory/catalogue.js';
import { checkScope } from '../domain/rules/scopes.js';
import { findTopUp } from '../domain/top-ups/top-ups.js';
import { findVolume } from '../domain/volumes/volumes.js';
import { builder, COUNTS_WITH_KEY } from './builder.js';
import { callerOf, type GatewayContext } from './context.js';

/** A row, with the name of its type. */
interface NodeValue {
  __typename: string;
}

/** Finds what an id names, given the id and what follows its prefix; null for nothing, and for what is another account's. */
type Find = (context: GatewayContext, id: string, name: string) => Promise<object | null>;

/** Ids that the contract shows begin with the kind of thing they name; what goes by a slug has an id made of both. */
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
  description: 'What can be read again by its id alone.',
  fields: (t) => ({
    id: t.id({
      description: 'Names it among everything that is a node.',
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
      "Anything by its id; null when there is no such thing, or it is another account's. What belongs to an account needs an API key; the rest is public.",
    args: { id: t.arg.id({ required: true, description: 'The id of any node.' }) },
    resolve: async (_root, { id }, context) => {
      const kind = KINDS.find(({ prefix }) => id.startsWith(prefix));
      const found = kind ? await kind.find(context, id, id.slice(kind.prefix.length)) : null;
      return found && { ...found, __typename: kind!.type };
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
