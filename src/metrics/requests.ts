import type { Registry } from 'prom-client';
import { STATUS_OF } from '../domain/kernel/errors.js';
import type { ObserveRequest } from '../http/request-log.js';
import { OperationNames } from './operation-names.js';
import { RequestSeconds } from './request-seconds.js';
import { Tally } from './tally.js';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Status codes that the gateway itself returns. A container behind a web port may return others. */
const STATUSES = new Map(
  [200, 201, 204, 302, 303, 304, 405, 406, 408, 415, 417, 431, ...Object.values(STATUS_OF)].map((status) => [
    status,
    String(status),
  ]),
);

/** Counts requests, GraphQL operations and errors. */
export function countRequests(registry: Registry): ObserveRequest {
  const seconds = new RequestSeconds(registry);
  const operations = new Tally({
    name: 'gpu_rental_graphql_operations_total',
    help: 'This process only. GraphQL operations executed, by name; result is refused if any field was.',
    labelNames: ['operation', 'type', 'result'],
    registry,
  });
  const operationSeconds = new Tally({
    name: 'gpu_rental_graphql_operation_seconds_total',
    help: 'This process only. Time taken by requests with these queries and mutations, except subscriptions.',
    labelNames: ['operation'],
    registry,
  });
  const refusals = new Tally({
    name: 'gpu_rental_refusals_total',
    help: 'This process only. Refusals by code; a GraphQL request may have several.',
    labelNames: ['code'],
    registry,
  });
  const names = new OperationNames();

  return ({ method, state }, status, ms) => {
    const { operation, refusals: codes } = state;
    const isStream = operation?.kind === 'subscription';
    const route = isStream ? `${state.route} events` : state.route;
    seconds.observe(method !== undefined && METHODS.has(method) ? method : 'other', route, labelOf(status), ms / 1_000);
    for (const code of codes) refusals.add(1, Object.hasOwn(STATUS_OF, code) ? code : 'other');
    if (operation === null) return;
    const name = names.labelOf(operation.name, state.accountId !== null);
    operations.add(1, name, operation.kind, codes.length === 0 ? 'ok' : 'refused');
    if (!isStream) operationSeconds.add(ms / 1_000, name);
  };
}

function labelOf(status: number | null): string {
  if (status === null) return 'none';
  return STATUSES.get(status) ?? `${Math.floor(status / 100)}xx`;
}
