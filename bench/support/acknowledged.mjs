// Clients that rent until they are stopped, repeat each request until they know its outcome, and record what the gateway
// acknowledged. Used to check that nothing acknowledged is lost.
import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { rowsOf } from './database.mjs';
import { keyOf } from './fill.mjs';

const DISK_GB = 50;
const ANSWERS_WITHIN_MS = 30_000;
export const RETRY_AFTER_MS = 200;

/** Responses that the clients received. */
export class Record {
  /** Time of each successful deploy and the longest wait for any response, on the performance.now() clock. */
  deployedAt = [];
  slowestMs = 0;
  statuses = {};
  unexpected = [];
  /** Acknowledged deploys: instance id → account number. */
  deployed = new Map();
  destroyed = new Set();
  /** Acknowledged credits, by reference. */
  credits = [];
  streamEnds = 0;

  count(status, body) {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    if (![200, 201, 409, 503, 'ECONNREFUSED', 'ECONNRESET'].includes(status)) {
      this.unexpected.push(`${status} ${String(body).slice(0, 300)}`);
    }
  }

  /** Starts counting responses again. Acknowledged writes are kept. */
  restart() {
    this.deployedAt = [performance.now()];
    this.slowestMs = 0;
    this.statuses = {};
    this.streamEnds = 0;
  }

  longestGapMs() {
    const times = [...this.deployedAt, performance.now()];
    return Math.max(...times.slice(1).map((time, index) => time - times[index]));
  }
}

/** One client rents and destroys a machine until `state.isOver`. It repeats each request until it knows the outcome. */
export async function rentRepeatedly(n, machineId, gateways, record, state) {
  const headers = { authorization: `Bearer ${keyOf(n)}` };
  const body = JSON.stringify({ machine_id: machineId, disk_gb: DISK_GB });
  let turn = n;
  async function repeated(method, path, content) {
    const key = { 'idempotency-key': randomUUID() };
    for (;;) {
      turn += 1;
      const startedAt = performance.now();
      const { port } = gateways[turn % gateways.length];
      const answer = await call(port, method, path, { ...headers, ...key }, content).catch((error) => ({
        status: error.code ?? error.message,
      }));
      record.slowestMs = Math.max(record.slowestMs, performance.now() - startedAt);
      record.count(answer.status, answer.body);
      const inProgress = answer.status === 409 && answer.body.includes('idempotency_in_progress');
      if (typeof answer.status === 'number' && answer.status < 500 && !inProgress) return answer;
      await sleep(RETRY_AFTER_MS);
    }
  }
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

export function call(port, method, path, headers = {}, body = undefined) {
  return new Promise((resolve, reject) => {
    const sent = request({ port, method, path, headers, timeout: ANSWERS_WITHIN_MS }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, body: Buffer.concat(chunks).toString() }));
    });
    sent.on('timeout', () => sent.destroy(new Error('no response')));
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Returns the number of acknowledged deploys that the database doesn't contain. */
export async function lostDeploys(url, record) {
  const text = `select count(*) from unnest($1::text[]) as told (id)
                where not exists (select from instance where instance.id = told.id)`;
  return Number((await rowsOf(url, text, [[...record.deployed.keys()]]))[0].count);
}

/** Returns the number of instances that exist although their destruction was acknowledged. */
export async function undestroyedOf(url, { destroyed }) {
  const text = `select count(*) from instance where id = any ($1) and status <> 'DESTROYED'`;
  return Number((await rowsOf(url, text, [[...destroyed]]))[0].count);
}

/** Returns the number of pairs of rentals of one machine that overlap. */
export async function rentedTwice(url) {
  return Number((await rowsOf(url, TWICE))[0].count);
}

const TWICE = `select count(*) from usage_interval one join instance a on a.id = one.instance_id
  join usage_interval other on other.resource = 'GPU' and other.instance_id <> one.instance_id
    and tstzrange(one.started_at, one.ended_at) && tstzrange(other.started_at, other.ended_at)
  join instance b on b.id = other.instance_id and b.machine_id = a.machine_id
  where one.resource = 'GPU' and a.id < b.id`;
