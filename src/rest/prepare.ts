import {
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isNonNullType,
  parse,
  validate,
} from 'graphql';
import type { z } from 'zod';
import type { Input, JsonEnvelope, Route } from './routes.js';
import { childOf, elementOf, rootOf, rootTypeOf, type Selected, spellingOf } from './selection.js';

/** The schema's definition of an argument, including its bounds and error codes. */
interface Definition {
  schema: z.ZodType;
  must: string;
  description: string;
  default?: unknown;
  missing?: string;
  refusal?: string;
}

export interface PreparedInput extends Input {
  required: boolean;
  /** GraphQL type that a query parameter is parsed as. */
  type: string;
  field: Definition;
}

/** A route with its document parsed and validated against the schema. */
export interface PreparedRoute extends Omit<Route, 'document' | 'inputs'> {
  document: DocumentNode;
  inputs: readonly PreparedInput[];
  /** The selection that becomes the response: either the root field or the member named by the route. */
  root: Selected;
  needsKey: boolean;
  /** Whether a response is the same for all callers, so that it can be cached. */
  isCached: boolean;
  /** The object's name in the not-found message. */
  objectName: string;
  /** Root field in the form `Query.balance`. */
  rootName: string;
  /** Builds the response body (JSON or text) from the root field's result. */
  respond(result: unknown): object | string;
}

/**
 * Prepares a route. Throws if a document or an input doesn't match the schema, because a gateway with a broken route
 * must not start.
 */
export function prepare(schema: GraphQLSchema, route: Route): PreparedRoute {
  const document = parse(route.document);
  const [fault] = validate(schema, document);
  if (fault !== undefined) throw new Error(`route ${route.operationId}: ${fault.message}`);
  const root = rootOf(schema, document);
  const { member } = route;
  const selected = member === undefined ? root : childOf(root, member);
  const args = [...root.definition.args, ...selected.definition.args];
  const spell = speller(selected);
  const needsKey = root.definition.extensions.needsKey === true;
  return {
    ...route,
    document,
    root: selected,
    inputs: route.inputs.map((input) => prepareInput(route, args, input)),
    needsKey,
    isCached: !needsKey && route.method === 'GET',
    objectName: route.method === 'GET' ? root.definition.name : route.envelope.object,
    rootName: `${rootTypeOf(schema, document).name}.${root.definition.name}`,
    respond: responder(route, (result) =>
      spell(member === undefined ? result : (result as Record<string, unknown>)[member]),
    ),
  };
}

function prepareInput(route: Route, args: readonly GraphQLArgument[], input: Input): PreparedInput {
  const argument = argumentOf(args, input.variable);
  const field = argument?.extensions.field as Definition | undefined;
  if (argument === undefined || field === undefined) {
    throw new Error(`route ${route.operationId}: no argument defines ${input.variable}`);
  }
  return { ...input, field, required: isNonNullType(argument.type), type: getNamedType(argument.type).name };
}

type ArgumentLike = GraphQLArgument | GraphQLInputField;

/** Finds the argument, or the input object's field, with the variable's name. */
function argumentOf(candidates: readonly ArgumentLike[], name: string): ArgumentLike | undefined {
  const inputs = candidates.map(({ type }) => getNamedType(type)).filter(isInputObjectType);
  return (
    candidates.find((candidate) => candidate.name === name) ??
    inputs.map((type) => argumentOf(Object.values(type.getFields()), name)).find((found) => found !== undefined)
  );
}

/** Returns a function that converts a response's enum values to their REST spelling. */
function speller({ type, children }: Selected): (value: unknown) => unknown {
  const names = spellingOf(getNamedType(type));
  const one = names !== undefined ? (value: unknown) => names[value as string] : objectSpeller(children);
  const some = elementOf(type) === null ? one : (list: unknown) => (list as unknown[]).map(one);
  return (value) => (value === null ? null : some(value));
}

function objectSpeller(children: readonly Selected[]): (value: unknown) => unknown {
  if (children.length === 0) return (value) => value;
  const fields = children.map((child) => [child.key, speller(child)] as const);
  return (value) => {
    const source = value as Record<string, unknown>;
    return Object.fromEntries(fields.map(([key, spell]) => [key, spell(source[key])]));
  };
}

function responder({ envelope }: Route, read: (result: unknown) => unknown): PreparedRoute['respond'] {
  return envelope.kind === 'text' ? envelope.make : (result) => envelop(envelope, read(result));
}

/** A GraphQL connection, as selected in a route's document. */
interface Page {
  page_info: object;
  edges: { cursor: string; node: object }[];
}

function envelop(envelope: JsonEnvelope, result: unknown): object {
  if (envelope.kind === 'document') return result as object;
  if (envelope.kind === 'item') return { object: envelope.object, ...(result as object) };
  if (envelope.kind === 'page') {
    const { page_info, edges } = result as Page;
    return { object: envelope.object, page_info, data: edges.map(({ cursor, node }) => ({ cursor, ...node })) };
  }
  const { object, itemObject, count } = envelope;
  const list = result as object[];
  const data = itemObject === undefined ? list : list.map((item) => ({ object: itemObject, ...item }));
  return count ? { object, count: list.length, data } : { object, data };
}
