import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Answer, Renter } from './gateway.js';

type Json = Record<string, unknown>;

export interface OpenApiDocument {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; securitySchemes: Record<string, Json> };
  [name: string]: unknown;
}

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security: Json[];
  parameters?: { name: string; in: string; required: boolean; description: string; schema: Json; example?: unknown }[];
  requestBody?: { required: boolean; content: Record<string, { schema: Json; example?: unknown }> };
  /** 304 has no content. */
  responses: Record<string, { description: string; headers?: Json; content?: Record<string, { schema: Json }> }>;
}

/** The service's own OpenAPI document and a check of responses against it. */
export interface OpenApi {
  document: OpenApiDocument;
  /** Operations whose responses were checked, with the status, such as `listOffers 200`. */
  seen: ReadonlySet<string>;
  /** Throws unless the document describes the response. */
  check(method: string, path: string, answer: Answer): void;
  /** Returns the same caller, but checks each REST response. */
  watch(renter: Renter): Renter;
  /** Returns a validator for the document's schema at a JSON pointer. */
  validator(pointer: string): ValidateFunction;
}

const METHODS_OF_OPENAPI = new Set(['GET', 'POST', 'DELETE']);
const ROOT = 'gateway';

export async function loadOpenApi(address: string): Promise<OpenApi> {
  const text = await (await fetch(`${address}/v1/openapi.json`)).text();
  const document = JSON.parse(text) as OpenApiDocument;
  const { ajv, validators } = schemasOf(text.replaceAll(address, ''), document);
  const seen = new Set<string>();

  const validator = (pointer: string) => {
    const known = validators.get(pointer) ?? ajv.compile({ $ref: `${ROOT}#${pointer}` });
    validators.set(pointer, known);
    return known;
  };

  const checkBody = (name: string, pointer: string, body: unknown) => {
    const validate = validator(pointer);
    if (!validate(body)) throw new Error(`${name}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`);
  };

  const check = (method: string, path: string, answer: Answer) => {
    const name = `${method} ${path} ${answer.status}`;
    if (answer.headers.get('x-request-id') === null) throw new Error(`${name}: no X-Request-Id`);
    if (method === 'HEAD' || method === 'OPTIONS') return;
    const template = templateOf(document, path.split('?')[0]!);
    const operation = template === null ? undefined : document.paths[template]![method.toLowerCase()];
    if (operation === undefined) return checkUnrouted(name, template, answer);
    const response = operation.responses[answer.status];
    if (response === undefined) throw new Error(`${name}: the document has no such answer of ${operation.operationId}`);
    seen.add(`${operation.operationId} ${answer.status}`);
    const [type = ''] = Object.keys(response.content ?? {});
    if (!(answer.headers.get('content-type') ?? '').startsWith(type))
      throw new Error(`${name}: is not of the type ${type}`);
    const at = ['paths', template!, method.toLowerCase(), 'responses', answer.status, 'content', type];
    if (response.content !== undefined) checkBody(name, `${pointerOf(at)}/schema`, answer.body);
    else if (answer.body !== null) throw new Error(`${name}: has a body`);
    checkRefusal(name, response.description, answer);
    checkHeaders(name, response.headers ?? {}, answer);
  };

  /** Checks a route that the document lacks, because it is unknown or known only with other methods. */
  const checkUnrouted = (name: string, template: string | null, { status, body }: Answer) => {
    const expected = template === null ? 404 : 405;
    if (status !== expected) throw new Error(`${name}: expected ${expected}`);
    checkBody(name, '/components/schemas/Error', body);
  };

  return {
    document,
    seen,
    check,
    validator,
    watch: (renter) => ({
      ...renter,
      rest: async (method, path, body, headers) => {
        const answer = await renter.rest(method, path, body, headers);
        check(method, path, answer);
        return answer;
      },
    }),
  };
}

interface CompiledSchemas {
  /** The document to which the validators belong. */
  text: string;
  ajv: Ajv2020;
  /** Validators by JSON pointer. */
  validators: Map<string, ValidateFunction>;
}

let compiled: CompiledSchemas | undefined;

/** Cached, because gateways describe the same API and compiling a document takes half a CPU-second. */
function schemasOf(text: string, document: OpenApiDocument): CompiledSchemas {
  if (compiled?.text !== text) {
    const ajv = new Ajv2020({ strict: true, strictTypes: false, strictSchema: false, allErrors: true });
    formats.default(ajv);
    ajv.addSchema(document, ROOT);
    compiled = { text, ajv, validators: new Map() };
  }
  return compiled;
}

/** Checks that the description of the documented response lists the error code. */
function checkRefusal(name: string, description: string, { status, body }: Answer): void {
  if (status < 400) return;
  if (!description.split(', ').includes(body.error.code)) {
    throw new Error(`${name}: ${body.error.code} is not among ${description}`);
  }
}

/** Checks that headers on which clients act are documented where they are sent. */
function checkHeaders(name: string, documented: Json, { headers }: Answer): void {
  const described = new Set(Object.keys(documented).map((header) => header.toLowerCase()));
  const relevant = [
    'x-request-id',
    'retry-after',
    'www-authenticate',
    'idempotent-replayed',
    'ratelimit-limit',
    'etag',
  ];
  for (const header of relevant) {
    if (headers.has(header) && !described.has(header)) throw new Error(`${name}: ${header} is sent but not documented`);
  }
}

function templateOf(document: OpenApiDocument, path: string): string | null {
  for (const template of Object.keys(document.paths)) {
    const pattern = new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);
    if (pattern.test(path)) return template;
  }
  return null;
}

/** Returns every operation of the document with its path and method. */
export function operationsOf(document: OpenApiDocument): { path: string; method: string; operation: Operation }[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([method]) => METHODS_OF_OPENAPI.has(method.toUpperCase()))
      .map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Returns the document with each reference replaced by its target. */
export function dereferenced<T>(document: T): T {
  const within = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(within);
    if (typeof value !== 'object' || value === null) return value;
    const { $ref, ...rest } = value as Json;
    const own = Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, within(member)]));
    return typeof $ref === 'string' ? { ...(within(named(document, $ref)) as Json), ...own } : own;
  };
  return within(document) as T;
}

function named(document: unknown, reference: string): unknown {
  const segments = reference.replace(/^#\//, '').split('/');
  return segments.reduce((value, segment) => (value as Json | undefined)?.[segment], document);
}

export function pointerOf(segments: readonly (string | number)[]): string {
  return segments.map((segment) => `/${encodeURIComponent(pointerPart(String(segment)))}`).join('');
}

function pointerPart(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}
