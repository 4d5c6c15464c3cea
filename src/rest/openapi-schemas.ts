import { isDeepStrictEqual } from 'node:util';
import { type GraphQLOutputType, getNamedType, isObjectType } from 'graphql';
import { z } from 'zod';
import { required } from '../std/required.js';
import { EXAMPLES } from './openapi-examples.js';
import type { PreparedInput, PreparedRoute } from './prepare.js';
import { childOf, elementOf, type Selected, spellingOf, unwrapNonNull } from './selection.js';

export type Json = Record<string, unknown>;

const SCALARS: Readonly<Record<string, Json>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  USD: { type: 'number', description: 'US dollars, exact to 6 decimals.' },
  DateTime: { type: 'string', format: 'date-time' },
  Date: { type: 'string', format: 'date' },
  Variables: { type: 'object', additionalProperties: { type: 'string' } },
  Json: {
    type: 'object',
    required: ['type'],
    properties: { type: { type: 'string' } },
    additionalProperties: true,
  },
  Labels: { type: 'object', additionalProperties: { type: 'string' } },
};

/** Collects a document's named schemas, each only once, while its operations are described. */
export class Schemas {
  readonly #byName = new Map<string, Json>();

  /** All schemas by name, in alphabetical order. */
  get all(): Json {
    return Object.fromEntries([...this.#byName].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** Adds a schema and returns a reference to it. Throws if a different schema already has that name. */
  put(name: string, schema: Json): Json {
    const example = EXAMPLES[name];
    const named = example === undefined ? schema : { ...schema, examples: [example] };
    const known = this.#byName.get(name);
    if (known !== undefined && !isDeepStrictEqual(known, named)) throw new Error(`two schemas are named ${name}`);
    this.#byName.set(name, named);
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Returns the schema for a route's response body. */
  response({ envelope, responseSchema, root }: PreparedRoute): Json {
    const { description } = getNamedType(root.type);
    if (envelope.kind === 'text')
      return this.put(responseSchema, { type: 'string', description: envelope.description });
    if (envelope.kind === 'document') return this.put(responseSchema, { description, ...SCALARS.Json });
    const object = { type: 'string', const: envelope.object };
    if (envelope.kind === 'page') return this.#page(responseSchema, object, root);
    const fields = this.#members(root.children);
    if (envelope.kind === 'item') {
      return this.put(responseSchema, { description, ...objectSchema({ object, ...fields }) });
    }
    const { itemObject, count } = envelope;
    const item = itemObject === undefined ? fields : { object: { type: 'string', const: itemObject }, ...fields };
    const items = this.put(getNamedType(root.type).name, { description, ...objectSchema(item) });
    const data = { type: 'array', items };
    return this.put(
      responseSchema,
      objectSchema(count ? { object, count: { type: 'integer' }, data } : { object, data }),
    );
  }

  /** Adds a page, whose entries have a cursor in addition to the object's own members. */
  #page(name: string, object: Json, selected: Selected): Json {
    const { type, children } = selected;
    const edges = childOf(selected, 'edges');
    const [cursor, node] = [childOf(edges, 'cursor'), childOf(edges, 'node')];
    const entry = getNamedType(node.type);
    const items = this.put(entry.name, {
      description: entry.description,
      ...objectSchema({ ...this.#members([cursor]), ...this.#members(node.children) }),
    });
    const info = this.#members(children.filter(({ key }) => key !== 'edges'));
    const { description } = getNamedType(type);
    return this.put(name, { description, ...objectSchema({ object, ...info, data: { type: 'array', items } }) });
  }

  #members(children: readonly Selected[]): Json {
    return Object.fromEntries(children.map((child) => [child.key, this.#value(child, child.type)]));
  }

  #value(selected: Selected, type: GraphQLOutputType): Json {
    const { nullable: mayBeNull, inner } = unwrapNonNull(type);
    const element = elementOf(inner);
    const schema: Json =
      element === null ? this.#one(selected, inner) : { type: 'array', items: this.#value(selected, element) };
    const { description } = selected.definition;
    if (!mayBeNull) return { ...schema, description };
    // With null allowed only in the type, a reference or an enum would still exclude it.
    const isClosed = '$ref' in schema || 'enum' in schema;
    return isClosed
      ? { anyOf: [schema, { type: 'null' }], description }
      : { ...schema, description, type: [schema.type, 'null'] };
  }

  #one(selected: Selected, type: GraphQLOutputType): Json {
    const named = getNamedType(type);
    if (isObjectType(named)) {
      const { name, description } = named;
      return this.put(name, { description, ...objectSchema(this.#members(selected.children)) });
    }
    const spelling = spellingOf(named);
    return spelling === undefined
      ? required(SCALARS[named.name], 'schema of a scalar')
      : { type: 'string', enum: Object.values(spelling) };
  }
}

/** Builds the schema for a response object. All members are required and no others are allowed. */
export function objectSchema(properties: Json): Json {
  return { type: 'object', required: Object.keys(properties), properties, additionalProperties: false };
}

/** Builds the schema for a JSON request body. An optional field may be null, which counts as omitted. */
export function bodySchema(inputs: readonly PreparedInput[]): Json {
  const requiredNames = inputs.filter((input) => input.required).map(({ name }) => name);
  const properties = Object.fromEntries(
    inputs.map((input) => [
      input.name,
      { ...nullable(input, inputSchema(input)), description: input.field.description },
    ]),
  );
  return { type: 'object', required: requiredNames, properties, additionalProperties: false };
}

function nullable(input: PreparedInput, schema: Json): Json {
  return input.required ? schema : { anyOf: [schema, { type: 'null' }] };
}

export function inputSchema({ field, values }: PreparedInput): Json {
  if (values !== undefined) {
    const spelled = Object.keys(values).find((name) => values[name] === field.default);
    return { type: 'string', enum: Object.keys(values), ...(spelled !== undefined && { default: spelled }) };
  }
  const { $schema: _, ...schema } = z.toJSONSchema(field.schema) as Json;
  return { ...schema, ...(field.default !== undefined && { default: field.default }) };
}
