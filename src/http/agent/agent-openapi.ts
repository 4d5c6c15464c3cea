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
} from '../../agent-protocol/protocol.js';
import { HOST_TOKEN_PREFIX } from '../../domain/fleet/rules/host-token.js';

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

/**
 * Builds the OpenAPI document for the host agents' API from the schemas that validate requests. `serverUrl` ends in
 * `/agent/v1`.
 */
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
      description: 'Requests of host agents to the gateway. The gateway itself never connects to a host.',
      contact: { name: 'The operator of this service', url: contactUrl },
      license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
    },
    servers: [{ url: serverUrl }],
    tags: [
      { name: TAG, description: 'A machine joins once. Afterwards, its agent requests its desired state and reports.' },
    ],
    paths: {
      '/join': {
        post: {
          operationId: 'join',
          tags: [TAG],
          security: [],
          summary: 'Join with a code of the operator',
          description: 'A code is valid for one hour and one agent. The token is returned only once.',
          requestBody: json('JoinRequest'),
          responses: {
            201: answer('Joined', 'JoinAnswer'),
            401: answer('The code is unknown, used or expired', 'Error'),
            ...refusals(400, 413, 422, 503),
          },
        },
      },
      '/desired': {
        get: {
          operationId: 'desired',
          tags: [TAG],
          summary: 'Desired state of the machine',
          description:
            'Waits until the number of the document differs from `after`. A newer request ends an older one.',
          security: BEARER,
          parameters: [
            query('after', Number.MAX_SAFE_INTEGER, 'Number of the document that the agent has; 0 for none.'),
            query('wait', MAX_WAIT_SECONDS, 'Maximum seconds to wait for another document.'),
          ],
          responses: {
            200: answer('A document whose number differs from `after`', 'DesiredState'),
            204: { description: 'No other document within the wait' },
            ...refusals(401, 422, 429, 503),
          },
        },
      },
      '/secrets': {
        get: {
          operationId: 'secrets',
          tags: [TAG],
          summary: 'Secrets of a start',
          description: 'For the current start of an instance on this machine. Keep them only in memory.',
          security: BEARER,
          parameters: [
            {
              name: 'instance',
              in: 'query',
              required: true,
              description: 'Id of the instance.',
              schema: { type: 'string' },
            },
            query('start', Number.MAX_SAFE_INTEGER, 'Number of the start in the document.'),
          ],
          responses: { 200: answer('The secrets', 'StartSecrets'), ...refusals(401, 404, 409, 422, 429, 503) },
        },
      },
      '/volumes': {
        get: {
          operationId: 'volumes',
          tags: [TAG],
          summary: 'Access to the volumes of a start',
          description:
            'For the current start of an instance on this machine, while it holds their leases: while it runs, and until its last changes are saved. Keep it only in memory.',
          security: BEARER,
          parameters: [
            {
              name: 'instance',
              in: 'query',
              required: true,
              description: 'Id of the instance.',
              schema: { type: 'string' },
            },
            query('start', Number.MAX_SAFE_INTEGER, 'Number of the start in the document.'),
          ],
          responses: {
            200: answer('Access to its volumes', 'VolumeAccess'),
            ...refusals(401, 404, 409, 422, 429, 503),
          },
        },
      },
      '/report': {
        post: {
          operationId: 'report',
          tags: [TAG],
          summary: 'Heartbeat with the observed state of the machine',
          description: `Send it immediately on every change, and every ${HEARTBEAT_SECONDS} s. A report that arrives late is answered but changes nothing.`,
          security: BEARER,
          requestBody: json('Report'),
          responses: { 200: answer('Accepted', 'ReportAnswer'), ...refusals(400, 401, 413, 422, 429, 503) },
        },
      },
    },
    components: {
      schemas: Object.fromEntries(schemas),
      securitySchemes: {
        hostToken: {
          type: 'http',
          scheme: 'bearer',
          description: `\`${HOST_TOKEN_PREFIX}\` followed by 40 hexadecimal characters.`,
        },
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
  409: "A secret no longer exists or can't be decrypted; the message names it",
  413: 'Too large',
  422: 'A value is out of bounds; the message names it. Nothing was changed',
  429: 'This machine sends too many requests; retry after `Retry-After`',
  503: 'Busy, or the database is unreachable; try again',
} as const;

function refusals(...statuses: (keyof typeof REFUSALS)[]) {
  return Object.fromEntries(statuses.map((status) => [status, answer(REFUSALS[status], 'Error')]));
}

function query(name: string, maximum: number, description: string) {
  return { name, in: 'query', description, schema: { type: 'integer', minimum: 0, maximum, default: 0 } };
}
