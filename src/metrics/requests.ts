import { Counter, Histogram, type Registry } from 'prom-client';
import { STATUS_OF } from '../domain/rules/errors.js';
import type { ObserveRequest } from '../http/request-log.js';
import { OperationNames } from './operation-names.js';

/** Upper bounds of the histogram, in seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** What the gateway itself answers with. A container behind a web port answers with any status. */
const STATUSES = new Set([200, 201, 204, 302, 303, 304, 405, 406, 408, 415, 417, 431, ...Object.values(STATUS_OF)]);

/** Counts requests, GraphQL operations and refusals. */
export function countRequests(registry: Registry): ObserveRequest {
  const registers = [registry];
  const seconds = new Histogram({
    name: 'gpu_rental_http_request_duration_seconds',
    help: 'Of this process. Requests from their head to the end of their answer, event streams and web ports too, which last.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: SECONDS,
    registers,
  });
  const operations = new Counter({
    name: 'gpu_rental_graphql_operations_total',
    help: 'Of this process. GraphQL operations that ran, by name; result is refused where any field was.',
    labelNames: ['operation', 'type', 'result'] as const,
    registers,
  });
  const operationSeconds = new Counter({
    name: 'gpu_rental_graphql_operation_seconds_total',
    help: 'Of this process. Time that requests with these queries and mutations took; subscriptions are left out.',
    labelNames: ['operation'] as const,
    registers,
  });
  const refusals = new Counter({
    name: 'gpu_rental_refusals_total',
    help: 'Of this process. Refusals by code; a GraphQL request may have several.',
    labelNames: ['code'] as const,
    registers,
  });
  const names = new OperationNames();

  return ({ method, state }, status, ms) => {
    const { operation, refusals: codes } = state;
    const isStream = operation?.kind === 'subscription';
    seconds.observe(
      {
        method: METHODS.has(method!) ? method! : 'other',
        route: isStream ? `${state.route} events` : state.route,
        status: labelOf(status),
      },
      ms / 1_000,
    );
    for (const code of codes) refusals.inc({ code: Object.hasOwn(STATUS_OF, code) ? code : 'other' });
    if (operation === null) return;
    const name = names.labelOf(operation.name, state.accountId !== null);
    operations.inc({ operation: name, type: operation.kind, result: codes.length === 0 ? 'ok' : 'refused' });
    if (!isStream) operationSeconds.inc({ operation: name }, ms / 1_000);
  };
}

function labelOf(status: number | null): string {
  if (status === null) return 'none';
  return STATUSES.has(status) ? String(status) : `${Math.floor(status / 100)}xx`;
}
