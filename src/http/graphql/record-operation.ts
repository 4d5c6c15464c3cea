import { OperationTypeNode } from 'graphql';
import type { OperationMeasures } from './operation-measure.js';
import type { PluginContext } from './plugin.js';
import type { Check } from './use-checks.js';

/** Maximum length of an operation name in the log. */
const MAX_NAME_CHARACTERS = 64;
/** Prefix of API keys, which are also valid names. */
const KEY_IN_NAME = 'gpu_live_';

/**
 * Records the operation in the request's state for the rate limit, the public response cache and the log. Never rejects
 * an operation.
 */
export function recordOperation(measures: OperationMeasures): Check {
  return (args) => {
    const { req } = args.contextValue as PluginContext;
    const measure = measures.of(args);
    const cost = measure?.cost(args.coerced ?? {}) ?? 0;
    const kind = measure?.operation.operation ?? OperationTypeNode.QUERY;
    const isPublicQuery = kind === 'query' && cost === 0;
    req.state.operation = { kind, name: loggedName(measure?.operation.name?.value), cost, isPublicQuery };
    return null;
  };
}

/** Returns the name to log. GraphQL allows letters, digits and underscores in a name, but doesn't limit its length. */
function loggedName(name: string | undefined): string | null {
  return name === undefined || name.includes(KEY_IN_NAME) ? null : name.slice(0, MAX_NAME_CHARACTERS);
}
