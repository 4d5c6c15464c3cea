import { z } from 'zod';
import {
  AGENT_PROTOCOL,
  desiredState,
  HEARTBEAT_SECONDS,
  joinAnswer,
  joinRequest,
  MAX_WAIT_SECONDS,
  report,
  reportAnswer,
  startSecrets,
  volumeAccess,
} from '../../agent/protocol.js';
import { HOST_TOKEN_PREFIX } from '../../domain/rules/host-token.js';

const SHAPES = {
  JoinRequest: joinRequest,
  JoinAnswer: joinAnswer,
  DesiredState: desiredState,
  Report: report,
  ReportAnswer: reportAnswer,
  StartSecrets: startSecrets,
  VolumeAccess: volumeAccess,
  Error: z.object({ error: z.object({ code: z.string(), message: z.string() }) }),
} as const;

const TAG = 'Host agents';
const BEARER = [{ hostToken: [] }];

/** Describes the host agents' requests, from the shapes that are checked; `serverUrl` ends in `/agent/v1`. */
export function agentOpenApi(serverUrl: string, contactUrl: string): object {
  const schemas = Object.entries(SHAPES).map(([name, shape]) => {
    const { $schema: _, ...schema } = z.toJSONSchema(shape, { io: 'input' });
    return [name, schema];
  });
  return {
    openapi: '3.1.0',
    info: {
      title: 'GPU rental gateway: host agents',
      version: `${AGENT_PROTOCOL}`,
      description: 'What a host agent asks of the gateway. It only ever asks; the gateway never connects to a host.',
      contact: { name: 'The operator of this service', url: contactUrl },
      license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
    },
    servers: [{ url: serverUrl }],
    tags: [{ name: TAG, description: 'A machine joins once; then its agent asks and reports.' }],
    paths: {
      '/join': {
        post: {
          operationId: 'join',
          tags: [TAG],
          security: [],
          summary: 'Join with a code of the operator',
          description: 'A code is good for one hour and one agent. The token is shown this once.',
          requestBody: json('JoinRequest'),
          responses: {
            201: answer('Joined', 'JoinAnswer'),
            401: answer('The code is unknown, used or too old', 'Error'),
            ...refusals(400, 413, 422, 503),
          },
        },
      },
      '/desired': {
        get: {
          operationId: 'desired',
          tags: [TAG],
          summary: 'What ought to be on the machine',
          description: 'Waits until the document has another number than `after`. A newer request ends an older one.',
          security: BEARER,
          parameters: [
            query('after', Number.MAX_SAFE_INTEGER, 'The number of the document that is known; 0 for none.'),
            query('wait', MAX_WAIT_SECONDS, 'Seconds to wait for another.'),
          ],
          responses: {
            200: answer('Another document than `after`', 'DesiredState'),
            204: { description: 'No other within the wait' },
            ...refusals(401, 422, 429, 503),
          },
        },
      },
      '/secrets': {
        get: {
          operationId: 'secrets',
          tags: [TAG],
          summary: 'The secrets of a start',
          description: 'For the present start of an instance that runs on this machine. Hold it in memory only.',
          security: BEARER,
          parameters: [
            { name: 'instance', in: 'query', required: true, description: 'Its id.', schema: { type: 'string' } },
            query('start', Number.MAX_SAFE_INTEGER, 'The start that the document names.'),
          ],
          responses: { 200: answer('Its secrets', 'StartSecrets'), ...refusals(401, 404, 409, 422, 429, 503) },
        },
      },
      '/volumes': {
        get: {
          operationId: 'volumes',
          tags: [TAG],
          summary: 'What the volumes of a start are reached with',
          description:
            'For the present start of an instance of this machine, as long as it holds their leases: while it runs, and until its last changes are saved if it had them before. Hold it in memory only.',
          security: BEARER,
          parameters: [
            { name: 'instance', in: 'query', required: true, description: 'Its id.', schema: { type: 'string' } },
            query('start', Number.MAX_SAFE_INTEGER, 'The start that the document names.'),
          ],
          responses: { 200: answer('Its volumes', 'VolumeAccess'), ...refusals(401, 404, 409, 422, 429, 503) },
        },
      },
      '/report': {
        post: {
          operationId: 'report',
          tags: [TAG],
          summary: 'A heartbeat, and what is on the machine',
          description: `At once on change, and every ${HEARTBEAT_SECONDS} s. A late report is answered and changes nothing.`,
          security: BEARER,
          requestBody: json('Report'),
          responses: { 200: answer('Taken', 'ReportAnswer'), ...refusals(400, 401, 413, 422, 429, 503) },
        },
      },
    },
    components: {
      schemas: Object.fromEntries(schemas),
      securitySchemes: {
        hostToken: { type: 'http', scheme: 'bearer', description: `\`${HOST_TOKEN_PREFIX}\` and 40 hex characters.` },
      },
    },
  };
}

function json(shape: keyof typeof SHAPES) {
  return { required: true, content: { 'application/json': { schema: { $ref: `#/components/schemas/${shape}` } } } };
}

function answer(description: string, shape: keyof typeof SHAPES) {
  return { description, content: { 'application/json': { schema: { $ref: `#/components/schemas/${shape}` } } } };
}

const REFUSALS = {
  400: 'Not JSON in UTF-8',
  401: 'Missing, unknown or revoked host token',
  404: 'No such start on this machine',
  409: 'A secret is gone or can not be opened; the message names it',
  413: 'Too large',
  422: 'A value is out of bounds; the message names it. Nothing was changed',
  429: 'This machine asks too often; `Retry-After` says when to ask again',
  503: 'Busy, or the database is away; try again',
} as const;

function refusals(...statuses: (keyof typeof REFUSALS)[]) {
  return Object.fromEntries(statuses.map((status) => [status, answer(REFUSALS[status], 'Error')]));
}

function query(name: string, maximum: number, description: string) {
  return { name, in: 'query', description, schema: { type: 'integer', minimum: 0, maximum, default: 0 } };
}
