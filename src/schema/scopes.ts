import {
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import type { Caller } from '../domain/accounts/api-keys.js';
import type { ActivityDeps } from '../domain/activity/deps.js';
import { ActivityNote } from '../domain/kernel/activity-note.js';
import { DomainError } from '../domain/kernel/errors.js';
import { checkScope, checkWriteResponse, PUBLIC, scopeOf } from '../domain/kernel/scopes.js';
import { required } from '../std/required.js';
import { callerOf, type GatewayContext } from './context.js';

/**
 * Makes every root field reject keys that lack its scope. Call it before compiling any part of the schema. Throws if a
 * field has no scope.
 */
export function guardOperations(schema: GraphQLSchema): void {
  for (const type of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    if (!type) continue;
    for (const field of Object.values(type.getFields())) guard(`${type.name}.${field.name}`, field);
  }
}

/**
 * Checks the scope for APIs that do this before reading the input. Records rejections itself, because no field is
 * resolved.
 */
export function checkOperation(
  deps: Pick<ActivityDeps, 'clock' | 'activityLog'>,
  caller: Caller,
  operation: string,
  targets: readonly unknown[],
): void {
  try {
    checkScope(caller.scopes, operation);
  } catch (error) {
    const [type, name = ''] = operation.split('.');
    if (type === 'Mutation')
      deps.activityLog.note(new ActivityNote(caller, name, targets), deps.clock.now(), codeOf(error));
    throw error;
  }
}

type Resolve = NonNullable<GraphQLField<unknown, GatewayContext>['resolve']>;

function guard(operation: string, field: GraphQLField<unknown, GatewayContext>): void {
  if (scopeOf(operation) === PUBLIC) return;
  const isWrite = operation.startsWith('Mutation.');
  const works = field.subscribe === undefined ? 'resolve' : 'subscribe';
  const work = required(field[works], 'resolver of a guarded field');
  const checked: Resolve = (root, args, context, info) => {
    const { scopes } = callerOf(context);
    checkScope(scopes, operation);
    // Checked before anything is done, because withholding the response afterwards would hide what was done.
    if (isWrite) checkWriteResponse(scopes, selectedIn(info));
    return work(root, args, context, info);
  };
  field[works] = isWrite
    ? recorded((field.extensions.renamedTo as string | undefined) ?? field.name, checked)
    : checked;
}

/** Yields each field selected below a root field along with its type, including fields that directives skip. */
function* selectedIn({ fieldNodes, returnType, schema, fragments }: GraphQLResolveInfo): Generator<[string, string]> {
  const spread = new Set<string>();
  for (const { selectionSet } of fieldNodes) yield* below(selectionSet, getNamedType(returnType));

  function* below(selectionSet: SelectionSetNode | undefined, type: GraphQLNamedType): Generator<[string, string]> {
    for (const node of selectionSet?.selections ?? []) {
      if (node.kind === Kind.FIELD) {
        yield [type.name, node.name.value];
        const field = 'getFields' in type ? type.getFields()[node.name.value] : undefined;
        if (field !== undefined) yield* below(node.selectionSet, getNamedType(field.type));
        continue;
      }
      // A fragment selects the same fields wherever it is spread, so it is visited only once, and nested spreads don't
      // multiply the work.
      if (node.kind === Kind.FRAGMENT_SPREAD && spread.has(node.name.value)) continue;
      if (node.kind === Kind.FRAGMENT_SPREAD) spread.add(node.name.value);
      const fragment = node.kind === Kind.FRAGMENT_SPREAD ? required(fragments[node.name.value], 'fragment') : node;
      const condition = fragment.typeCondition?.name.value;
      yield* below(fragment.selectionSet, (condition === undefined ? undefined : schema.getType(condition)) ?? type);
    }
  }
}

/**
 * Records each mutation requested with a key, whether it succeeds or is rejected. A request's mutations run
 * sequentially.
 */
function recorded(name: string, work: Resolve): Resolve {
  return async (root, args, context, info) => {
    const { deps, caller } = context;
    if (caller === null) return work(root, args, context, info);
    const note = new ActivityNote(caller, operationOf(name, args), targetsOf(args));
    context.deps = { ...deps, activity: note };
    try {
      const result = await work(root, args, context, info);
      if (!note.isWritten) deps.activityLog.note(note, deps.clock.now(), null);
      return result;
    } catch (error) {
      deps.activityLog.note(note, deps.clock.now(), codeOf(error));
      throw error;
    } finally {
      context.deps = deps;
    }
  };
}

function codeOf(error: unknown): string {
  return error instanceof DomainError ? error.code : 'internal';
}

/**
 * Returns the name that an operation is recorded under. The `action` operation is recorded under the name of the
 * action.
 */
function operationOf(name: string, { action }: Record<string, unknown>): string {
  return name === 'action' && typeof action === 'string' ? action.toLowerCase() : name;
}

function targetsOf(args: Record<string, unknown>): unknown[] {
  const { id, instanceId } = args;
  const { machineId } = (args.input ?? {}) as Record<string, unknown>;
  return [id, instanceId, machineId];
}
