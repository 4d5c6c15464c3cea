// Clients that use two gateways throughout the failures. They repeat each request until they know its outcome.
import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountId, keyOf } from '../support/fill.mjs';
import { runAdmin } from '../support/programs.mjs';
import { call } from './tools.mjs';

const DISK_GB = 50;
const RETRY_AFTER_MS = 200;
const CREDIT_EVERY_MS = 3_000;

/** Returns a function that repeats a request with one idempotency key until its outcome is known. */
export function repeatedRequests(n, gateways, record) {
  let turn = n;
  return async (method, path, content) => {
    const headers = { authorization: `Bearer ${keyOf(n)}`, 'idempotency-key': randomUUID() };
    if (path === '/graphql') headers['content-type'] = 'application/json';
    for (;;) {
      turn += 1;
      const startedAt = performance.now();
      const { port } = gateways[turn % gateways.length];
      const answer = await call(port, method, path, headers, content).catch((error) => ({
        status: error.code ?? error.message,
      }));
      record.slowestMs = Math.max(record.slowestMs, performance.now() - startedAt);
      record.count(answer.status, answer.body);
      const inProgress = answer.status === 409 && answer.body.includes('idempotency_in_progress');
      if (typeof answer.status === 'number' && answer.status < 500 && !inProgress) return answer;
      await sleep(RETRY_AFTER_MS);
    }
  };
}

/** One client rents and destroys a machine until `state.isOver`. */
export async function rentRepeatedly(n, machineId, { gateways, record, state }) {
  const repeated = repeatedRequests(n, gateways, record);
  const body = JSON.stringify({ machine_id: machineId, disk_gb: DISK_GB });
  while (!state.isOver) {
    const answer = await repeated('POST', '/v1/instances', body);
    if (answer.status !== 201) {
      await sleep(RETRY_AFTER_MS / 4);
      continue;
    }
    record.deployedAt.push(performance.now());
    const { id } = JSON.parse(answer.body);
    record.deployed.set(id, n);
    const destroyed = await repeated('DELETE', `/v1/instances/${id}`);
    if (destroyed.status === 200) record.destroyed.add(id);
    else record.unexpected.push(`destroy ${id}: ${destroyed.status} ${destroyed.body}`);
  }
}

/** An operator books credits with references, and repeats each command until it succeeds. */
export async function bookRepeatedly(databaseUrl, { record, state }) {
  for (let n = 1; !state.isOver; n += 1) {
    const reference = `failover-${n}`;
    const args = ['account', 'credit', accountId(1), '--amount', '1', '--reference', reference];
    while ((await runAdmin(args, { DATABASE_URL: databaseUrl })).code !== 0) {
      if (state.isOver) return;
      await sleep(RETRY_AFTER_MS);
    }
    record.credits.push(reference);
    await sleep(CREDIT_EVERY_MS);
  }
}

/** Keeps an event stream open and counts how often it ends. */
export async function watchRepeatedly({ port }, { record, state }) {
  const query = 'subscription { accountChanged { account { balance } } }';
  const path = `/graphql?query=${encodeURIComponent(query)}`;
  while (!state.isOver) {
    await new Promise((resolve) => {
      const headers = { authorization: `Bearer ${keyOf(1)}`, accept: 'text/event-stream' };
      const sent = request({ port, path, headers }, (response) => response.resume().on('close', resolve));
      sent.on('error', resolve).end();
      state.streams.push(sent);
    });
    if (!state.isOver) record.streamEnds += 1;
    await sleep(RETRY_AFTER_MS);
  }
}
