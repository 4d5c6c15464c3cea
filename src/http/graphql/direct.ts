import type { ExecutionArgs, ExecutionResult, GraphQLSchema } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import type { GatewayContext } from '../../schema/context.js';
import type { Tracer } from '../tracer.js';
import type { PluginContext, ServerContext } from './plugin.js';
import { STREAM_ANSWER } from './read-request.js';
import type { Result, Written } from './send-result.js';
import { type Check, firstRefusal } from './use-checks.js';
import type { CompiledOperations } from './use-compiled.js';
import { withStatus } from './use-status.js';
import { traced } from './use-tracer.js';

interface DirectOptions {
  schema: GraphQLSchema;
  compiled: CompiledOperations;
  checks: readonly Check[];
  contextOf(context: ServerContext): Promise<GatewayContext>;
  maskError(error: unknown): Error;
  tracer: Tracer | null;
}

/**
 * Runs compiled queries without Yoga. Yoga has run each of them before, so their documents are parsed, valid and within
 * the limits. Each request goes through the same steps as in Yoga: context, checks, span, execution, status and
 * masking. Returns null for anything else without running any of it.
 */
export function createDirectExecutor({ schema, compiled, checks, contextOf, maskError, tracer }: DirectOptions) {
  return async (context: ServerContext, parameters: GraphQLParams): Promise<Result | Written | null> => {
    const { query, operationName, variables, extensions } = parameters;
    const found = context.type === STREAM_ANSWER ? null : compiled.findQuery(query!, operationName);
    if (found === null || !isObjectOrNone(variables) || !isObjectOrNone(extensions)) return null;
    const { document, run } = found;
    const contextValue: PluginContext = Object.assign(await contextOf(context), context);
    const args: ExecutionArgs = { schema, document, operationName, variableValues: variables, contextValue };
    const refused = await firstRefusal(checks, args);
    if (refused !== null) return refused;
    const result = (await (tracer === null ? run(args) : traced(tracer, args, () => run(args)))) as
      | Written
      | ExecutionResult;
    if (result.errors === undefined) return result;
    const { errors, ...rest } = withStatus(result);
    return { errors: errors!.map((error) => maskError(error)), ...rest };
  };
}

/** Returns whether Yoga accepts the value, which must be an object unless it is missing. */
function isObjectOrNone(value: unknown): boolean {
  return value == null || (typeof value === 'object' && !Array.isArray(value));
}
