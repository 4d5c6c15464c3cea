import { bodySchema, inputSchema, type Json, objectSchema, Schemas } from './openapi-schemas.js';
import type { PreparedInput, PreparedRoute } from './prepare.js';
import { TAGS } from './routes.js';

/** Facts for the document that the routes don't contain. */
export interface OpenApiFacts {
  serverUrl: string;
  /** URL of the pages about the service. */
  contactUrl: string;
  /** HTTP status by error code. */
  refusals: Readonly<Record<string, number>>;
  /** A machine that is currently free, for examples that work when sent. Null if there is none. */
  offered: { machineId: string; gpu: string; region: string } | null;
}

/** Error codes by kind of route (docs/behaviour.md). */
const ALWAYS = ['invalid_request', 'method_not_allowed', 'internal', 'unavailable'];
const WITH_KEY = ['unauthorized', 'forbidden', 'rate_limited'];
const WITH_BODY = ['invalid_json', 'payload_too_large'];
const VOLUME_CHANGE = ['idempotency_mismatch', 'action_failed', 'idempotency_in_progress'];
const BY_OPERATION: Readonly<Record<string, readonly string[]>> = {
  getModelMemory: ['not_found', 'rate_limited', 'unavailable'],
  deployInstance: ['missing_machine', 'idempotency_mismatch', 'deploy_failed', 'idempotency_in_progress'],
  getInstance: ['not_found'],
  getInstanceLaunch: ['not_found'],
  scrapeInstance: ['not_found'],
  getInstanceMetrics: ['not_found'],
  getInstanceTimeline: ['not_found'],
  getLogInclusion: ['not_found'],
  createWebToken: ['not_found', 'action_failed'],
  moveInstance: ['not_found', 'idempotency_mismatch', 'action_failed', 'deploy_failed', 'idempotency_in_progress'],
  destroyInstance: ['not_found', 'idempotency_mismatch', 'action_failed', 'idempotency_in_progress'],
  createVolume: VOLUME_CHANGE,
  getVolume: ['not_found'],
  growVolume: ['not_found', ...VOLUME_CHANGE],
  deleteVolume: ['not_found', ...VOLUME_CHANGE],
  releaseVolume: ['not_found', 'action_failed'],
  actOnInstance: ['not_found', 'bad_action', 'idempotency_mismatch', 'action_failed', 'idempotency_in_progress'],
};

/** Headers by name, as referenced by operations. */
const HEADERS: Readonly<Record<string, Json>> = {
  'X-Request-Id': header('Identifies this request in the log.', 'string'),
  'RateLimit-Limit': header('Maximum requests in any 60 s.'),
  'RateLimit-Remaining': header('Requests remaining now.'),
  'RateLimit-Reset': header('Seconds until the full limit is available again.'),
  'Retry-After': header('Seconds to wait before retrying the request.'),
  'WWW-Authenticate': header('`Bearer`.', 'string'),
  Allow: header('Methods that this path allows.', 'string'),
  'Idempotent-Replayed': header('`true` if this is the stored response to an earlier, identical request.', 'string'),
  ETag: header('Identifies these bytes, for `If-None-Match`.', 'string'),
  'Cache-Control': header(
    'A shared cache may keep the response for a second. Other caches must revalidate it.',
    'string',
  ),
};

const COUNTED = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
const CACHED = ['ETag', 'Cache-Control'];

/** Additional headers of responses with particular error codes. */
const HEADERS_OF_REFUSALS: Readonly<Record<string, string>> = {
  unauthorized: 'WWW-Authenticate',
  method_not_allowed: 'Allow',
  rate_limited: 'Retry-After',
  idempotency_in_progress: 'Retry-After',
  unavailable: 'Retry-After',
};
const BEFORE_RATE_LIMIT = ['unauthorized', 'method_not_allowed'];

const DESCRIPTION = `Rent GPU machines at hourly rates, billed per second. Prices and offers are public; everything else needs a key.
Send your own \`Idempotency-Key\` with every deploy, action and destroy. If you lose a response, repeat the request with the same
key: you get the first response, and nothing is done twice.
Every refusal has the same body: \`{"error": {"code", "message"}}\`. An optional field can be null. An unknown query parameter
or body member is refused with 422 \`invalid_request\`; the message suggests the most similar known name.`;

/**
 * Builds the OpenAPI 3.1 document from the definitions that validate requests and from the fields that the documents
 * select.
 */
export function openApi(routes: readonly PreparedRoute[], facts: OpenApiFacts): Json {
  const schemas = new Schemas();
  const error = schemas.put('Error', errorSchema(Object.keys(facts.refusals)));
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const described = operation(route, facts, schemas, error);
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: described };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'GPU rental service',
      version: '1.0.0',
      description: DESCRIPTION,
      contact: { name: 'The operator of this service', url: facts.contactUrl },
      license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
    },
    servers: [{ url: facts.serverUrl }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: gpu_live_ and 40 hex characters.' },
      },
      headers: HEADERS,
      schemas: schemas.all,
    },
  };
}

function operation(route: PreparedRoute, facts: OpenApiFacts, schemas: Schemas, error: Json): Json {
  const parameters = route.inputs.filter((input) => input.in !== 'body').map((input) => parameter(input, facts));
  const body = route.inputs.filter((input) => input.in === 'body');
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    security: route.needsKey ? [{ apiKey: [] }] : [],
    ...(parameters.length > 0 && { parameters }),
    ...(route.requestSchema !== undefined && { requestBody: requestBody(body, route.requestSchema, facts, schemas) }),
    responses: {
      [route.status]: success(route, schemas),
      ...(route.isCached && { 304: notModified() }),
      ...refusals(route, facts, error),
    },
  };
}

function parameter(input: PreparedInput, facts: OpenApiFacts): Json {
  const example = exampleValues(facts)[input.name];
  return {
    name: input.name,
    in: input.in,
    required: input.required,
    description: input.field.description,
    schema: inputSchema(input),
    ...(example !== undefined && { example }),
  };
}

function requestBody(inputs: readonly PreparedInput[], name: string, facts: OpenApiFacts, schemas: Schemas): Json {
  const schema = schemas.put(name, bodySchema(inputs));
  const values: Json = { ...exampleValues(facts), ...(name === 'CreateVolumeRequest' && { name: 'work' }) };
  const shown = inputs.filter(({ name: input }) => input in values);
  const example = Object.fromEntries(shown.map((input) => [input.name, values[input.name]]));
  const isWhole = shown.length > 0 && !Object.values(example).includes(undefined);
  return { required: true, content: { 'application/json': { schema, ...(isWhole && { example }) } } };
}

/**
 * Returns example values by input name, which work when sent unchanged. Ids and keys have no examples, and a launch has
 * too many inputs.
 */
function exampleValues({ offered }: OpenApiFacts): Json {
  return {
    gpu: offered?.gpu,
    region: offered?.region,
    machine_id: offered?.machineId,
    template: 'pytorch',
    disk_gb: 50,
    size_gb: 200,
    type: 'od',
    action: 'stop',
  };
}

function success(route: PreparedRoute, schemas: Schemas): Json {
  const own = [...(isRepeatable(route) ? ['Idempotent-Replayed'] : []), ...(route.isCached ? CACHED : [])];
  return {
    description: route.status === 201 ? 'Created.' : 'Done.',
    headers: headersNamed([...responseHeaders(route.needsKey), ...own]),
    content: responseContent(route, schemas),
  };
}

function responseContent(route: PreparedRoute, schemas: Schemas): Json {
  const { envelope } = route;
  const [type] = envelope.kind === 'text' ? (envelope.type.split(';') as [string]) : ['application/json'];
  return { [type]: { schema: schemas.response(route) } };
}

function notModified(): Json {
  return {
    description: 'Not modified: `If-None-Match` matches the current response.',
    headers: headersNamed([...responseHeaders(false), ...CACHED]),
  };
}

function refusals(route: PreparedRoute, facts: OpenApiFacts, error: Json): Json {
  const hasBody = route.method === 'POST';
  const applicable = [
    ...(route.needsKey ? WITH_KEY : []),
    ...(hasBody ? WITH_BODY : []),
    ...(BY_OPERATION[route.operationId] ?? []),
    ...ALWAYS,
  ];
  const codes = [...new Set(applicable)];
  const statuses = new Set(codes.map((code) => facts.refusals[code]!));
  return Object.fromEntries(
    [...statuses].map((status) => {
      const matching = codes.filter((code) => facts.refusals[code] === status);
      const content = { 'application/json': { schema: error } };
      return [status, { description: matching.join(', '), headers: refusalHeaders(route, matching), content }];
    }),
  );
}

function refusalHeaders(route: PreparedRoute, codes: readonly string[]): Json {
  const counted = route.needsKey && !codes.every((code) => BEFORE_RATE_LIMIT.includes(code));
  const own = codes.flatMap((code) => HEADERS_OF_REFUSALS[code] ?? []);
  return headersNamed([...responseHeaders(counted), ...own]);
}

function isRepeatable(route: PreparedRoute): boolean {
  return route.inputs.some(({ variable }) => variable === 'idempotencyKey');
}

function header(description: string, type = 'integer'): Json {
  return { description, schema: { type } };
}

function responseHeaders(counted: boolean): string[] {
  return ['X-Request-Id', ...(counted ? COUNTED : [])];
}

function headersNamed(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

function errorSchema(codes: string[]): Json {
  return objectSchema({
    error: objectSchema({ code: { type: 'string', enum: codes }, message: { type: 'string' } }),
  });
}
