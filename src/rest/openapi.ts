import { type GraphQLOutputType, getNamedType, isObjectType } from 'graphql';
import { z } from 'zod';
import type { PreparedInput, PreparedRoute } from './prepare.js';
import { SPELLING } from './routes.js';
import { elementOf, type Selected, unwrapNonNull } from './selection.js';

type Json = Record<string, unknown>;

/** What the routes do not say. */
export interface OpenApiFacts {
  serverUrl: string;
  /** The status of each error code. */
  refusals: Readonly<Record<string, number>>;
}

/** The refusals each kind of route can give (docs/behaviour.md). */
const ALWAYS = ['method_not_allowed', 'internal', 'unavailable'];
const WITH_KEY = ['unauthorized', 'rate_limited'];
const WITH_BODY = ['invalid_json', 'payload_too_large'];
const BY_OPERATION: Readonly<Record<string, readonly string[]>> = {
  listOffers: ['invalid_request'],
  deployInstance: [
    'missing_machine',
    'invalid_request',
    'idempotency_mismatch',
    'deploy_failed',
    'idempotency_in_progress',
  ],
  getInstance: ['not_found'],
  destroyInstance: ['not_found', 'invalid_request', 'idempotency_mismatch', 'action_failed', 'idempotency_in_progress'],
  actOnInstance: [
    'not_found',
    'bad_action',
    'invalid_request',
    'idempotency_mismatch',
    'action_failed',
    'idempotency_in_progress',
  ],
};

const REPLAYED = header('true on the kept answer of an earlier, same request.', 'string');

/** Headers that particular refusals add. */
const HEADERS_OF_REFUSALS: Readonly<Record<string, Json>> = {
  unauthorized: { 'WWW-Authenticate': header('Bearer.', 'string') },
  method_not_allowed: { Allow: header('The methods of this path.', 'string') },
  rate_limited: { 'Retry-After': header('Seconds until this request would pass.') },
  idempotency_in_progress: { 'Retry-After': header('Seconds to wait before trying again.') },
  unavailable: { 'Retry-After': header('Seconds to wait before trying again.') },
};
const BEFORE_RATE_LIMIT = ['unauthorized', 'method_not_allowed'];

const SCALARS: Readonly<Record<string, Json>> = {
  ID: { type: 'string' },
  String: { type: 'string' },
  Int: { type: 'integer' },
  Float: { type: 'number' },
  Boolean: { type: 'boolean' },
  USD: { type: 'number', description: 'US dollars, exact to 6 decimals.' },
  DateTime: { type: 'string', format: 'date-time' },
  Date: { type: 'string', format: 'date' },
};

/** OpenAPI 3.1 of the routes, made from the definitions that validate requests and from what the documents select. */
export function openApi(routes: readonly PreparedRoute[], facts: OpenApiFacts): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, facts) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'GPU rental service',
      version: '1.0.0',
      description:
        'Rents GPU machines by the hour, billed per second. Prices and offers are public; the rest needs a key.',
    },
    servers: [{ url: facts.serverUrl }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: gpu_live_ and 40 hex characters.' },
      },
      schemas: { Error: errorSchema(Object.keys(facts.refusals)) },
    },
  };
}

function operation(route: PreparedRoute, facts: OpenApiFacts): Json {
  const parameters = route.inputs.filter((input) => input.in !== 'body').map(parameter);
  const body = route.inputs.filter((input) => input.in === 'body');
  return {
    operationId: route.operationId,
    summary: route.summary,
    security: route.needsKey ? [{ apiKey: [] }] : [],
    ...(parameters.length > 0 && { parameters }),
    ...(body.length > 0 && { requestBody: requestBody(body) }),
    responses: { [route.status]: success(route), ...refusals(route, facts) },
  };
}

function parameter(input: PreparedInput): Json {
  return {
    name: input.name,
    in: input.in,
    required: input.in === 'path',
    description: input.field.description,
    schema: inputSchema(input),
  };
}

function requestBody(inputs: readonly PreparedInput[]): Json {
  const required = inputs.filter((input) => input.required).map(({ name }) => name);
  const properties = Object.fromEntries(
    inputs.map((input) => [
      input.name,
      { ...nullable(input, inputSchema(input)), description: input.field.description },
    ]),
  );
  return { required: true, content: { 'application/json': { schema: { type: 'object', required, properties } } } };
}

/** An optional body field may be null, which counts as absent. */
function nullable(input: PreparedInput, schema: Json): Json {
  return input.required ? schema : { anyOf: [schema, { type: 'null' }] };
}

function inputSchema({ field, values }: PreparedInput): Json {
  if (values !== undefined) {
    const spelled = Object.keys(values).find((name) => values[name] === field.default);
    return { type: 'string', enum: Object.keys(values), ...(spelled !== undefined && { default: spelled }) };
  }
  const { $schema: _, ...schema } = z.toJSONSchema(field.schema) as Json;
  return { ...schema, ...(field.default !== undefined && { default: field.default }) };
}

function success(route: PreparedRoute): Json {
  return {
    description: route.status === 201 ? 'Created.' : 'Done.',
    headers: { ...answerHeaders(route.needsKey), ...(isRepeatable(route) && { 'Idempotent-Replayed': REPLAYED }) },
    content: { 'application/json': { schema: answerSchema(route) } },
  };
}

function answerSchema({ envelope, root }: PreparedRoute): Json {
  const object = { type: 'string', const: envelope.object };
  if (envelope.kind === 'item') return objectSchema({ object, ...childSchemas(root.children) });
  const item = {
    ...(envelope.itemObject && { object: { type: 'string', const: envelope.itemObject } }),
    ...childSchemas(root.children),
  };
  const data = { type: 'array', items: objectSchema(item) };
  return objectSchema(envelope.count ? { object, count: { type: 'integer' }, data } : { object, data });
}

function childSchemas(children: readonly Selected[]): Json {
  return Object.fromEntries(children.map((child) => [child.key, valueSchema(child, child.type)]));
}

function valueSchema(selected: Selected, type: GraphQLOutputType): Json {
  const { nullable: mayBeNull, inner } = unwrapNonNull(type);
  const element = elementOf(inner);
  const schema: Json =
    element === null ? namedSchema(selected, inner) : { type: 'array', items: valueSchema(selected, element) };
  const described = { ...schema, description: selected.definition.description };
  return mayBeNull ? { ...described, type: [schema.type, 'null'] } : described;
}

function namedSchema(selected: Selected, type: GraphQLOutputType): Json {
  const named = getNamedType(type);
  if (isObjectType(named)) return objectSchema(childSchemas(selected.children));
  const spelling = SPELLING[named.name];
  return spelling === undefined ? SCALARS[named.name]! : { type: 'string', enum: Object.values(spelling) };
}

function objectSchema(properties: Json): Json {
  return { type: 'object', required: Object.keys(properties), properties, additionalProperties: false };
}

function refusals(route: PreparedRoute, facts: OpenApiFacts): Json {
  const hasBody = route.inputs.some((input) => input.in === 'body');
  const codes = [
    ...(route.needsKey ? WITH_KEY : []),
    ...(hasBody ? WITH_BODY : []),
    ...(BY_OPERATION[route.operationId] ?? []),
    ...ALWAYS,
  ];
  const statuses = new Set(codes.map((code) => facts.refusals[code]!));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const meant = codes.filter((code) => facts.refusals[code] === status);
      const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
      return [status, { description: meant.join(', '), headers: refusalHeaders(route, meant), content }];
    }),
  );
}

function refusalHeaders(route: PreparedRoute, codes: readonly string[]): Json {
  const counted = route.needsKey && !codes.every((code) => BEFORE_RATE_LIMIT.includes(code));
  return Object.assign(answerHeaders(counted), ...codes.map((code) => HEADERS_OF_REFUSALS[code]));
}

function isRepeatable(route: PreparedRoute): boolean {
  return route.inputs.some(({ variable }) => variable === 'idempotencyKey');
}

function header(description: string, type = 'integer'): Json {
  return { description, schema: { type } };
}

function answerHeaders(needsKey: boolean): Json {
  return {
    'X-Request-Id': header('Names this request in the log.', 'string'),
    ...(needsKey && {
      'RateLimit-Limit': header('Requests in any 60 s.'),
      'RateLimit-Remaining': header('Requests left now.'),
      'RateLimit-Reset': header('Seconds until the whole limit is left again.'),
    }),
  };
}

function errorSchema(codes: string[]): Json {
  return objectSchema({
    error: objectSchema({ code: { type: 'string', enum: codes }, message: { type: 'string' } }),
  });
}
