// Host agents as a gateway sees them. Each polls for documents on its own connection and, like the real agent's HTTP
// client, reports every ten seconds on a new one.
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { withClient } from './database.mjs';
import { requestBytes } from './load.mjs';

const HEARTBEAT_MS = 10_000;
const WAIT_SECONDS = 25;
const RAMP_MS = 10_000;
/** Pause before an agent polls again after a lost connection. */
const RETRY_MS = 2_000;

export function machineIdOf(n) {
  return `f-${String(n).padStart(5, '0')}`;
}

function tokenOf(n) {
  return `gpu_host_${n.toString(16).padStart(40, '0')}`;
}

/** Adds listed machines with agents, modelled on one of the seed's machines. */
export function addHosts(url, count) {
  return withClient(url, async (client) => {
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    const ids = numbers.map(machineIdOf);
    await client.query(
      `insert into machine (id, gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps, net_up_mbps, ports, pcie,
         nvlink, cuda_max, reliability, state, demo, created_at)
       select id, gpu, 1, region, cpu, vcpus, ram_gb, 1000, net_down_mbps, net_up_mbps, ports, pcie, nvlink, cuda_max, 1,
         'LISTED', false, created_at
       from unnest($1::text[]) as new (id), (select gpu, region, cpu, vcpus, ram_gb, net_down_mbps, net_up_mbps, ports, pcie,
         nvlink, cuda_max, created_at from machine where state = 'LISTED' order by machine.id limit 1) as like_this`,
      [ids],
    );
    const hashes = numbers.map((n) => createHash('sha256').update(tokenOf(n)).digest());
    await client.query(
      `insert into machine_host (machine_id, token_hash, joined_at, hardware, protocol, gpus)
       select new.id, hash, now(), '{}', 2, jsonb_build_array(jsonb_build_object('uuid', 'GPU-' || new.id, 'model', gpu))
       from unnest($1::text[], $2::bytea[]) as new (id, hash) join machine using (id)`,
      [ids, hashes],
    );
    await client.query('insert into machine_heartbeat (machine_id) select * from unnest($1::text[])', [ids]);
  });
}

/**
 * Starts agents. Each new connection goes to the next of `ports`. `onDesired(machineId, instanceIds)` is called for each
 * document as it arrives.
 */
export class Agents {
  reports = 0;
  polls = 0;
  /** Number of failed requests, by status or, for lost connections, by error code. */
  refused = {};
  /** Whether the agents report samples. */
  measures = false;
  #agents = [];
  #isOver = false;

  constructor(ports, count, onDesired) {
    for (let n = 1; n <= count; n += 1)
      this.#agents.push({ n, ports, turn: n, onDesired, generation: 0, instances: [], sequence: 0, reportedAt: 0 });
  }

  /** Number of agents whose report was accepted since this time on the performance.now() clock. */
  reportedSince(time) {
    return this.#agents.filter(({ reportedAt }) => reportedAt >= time).length;
  }

  async start() {
    const pause = RAMP_MS / this.#agents.length;
    for (const [index, agent] of this.#agents.entries()) {
      this.#poll(agent);
      this.#report(agent);
      agent.timer = setInterval(() => this.#report(agent), HEARTBEAT_MS);
      if (index % 20 === 19) await new Promise((resolve) => setTimeout(resolve, pause * 20));
    }
  }

  end() {
    this.#isOver = true;
    for (const { timer, socket } of this.#agents) {
      clearInterval(timer);
      socket?.destroy();
    }
  }

  #refuse(why) {
    this.refused[why] = (this.refused[why] ?? 0) + 1;
  }

  #poll(agent) {
    const socket = connectTo(agent);
    agent.socket = socket;
    const ask = () => {
      const path = `/agent/v1/desired?after=${agent.generation}&wait=${WAIT_SECONDS}`;
      socket.write(requestBytes({ path, headers: { Authorization: `Bearer ${tokenOf(agent.n)}` } }));
    };
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk;
      const answer = wholeAnswer(text);
      if (answer === null) return;
      text = '';
      this.polls += 1;
      if (answer.status === 200) this.#take(agent, JSON.parse(answer.body));
      else if (answer.status !== 204) {
        this.#refuse(answer.status);
        return void socket.end();
      }
      ask();
    });
    socket
      .on('error', () => {})
      .on('close', () => {
        if (!this.#isOver) setTimeout(() => this.#isOver || this.#poll(agent), RETRY_MS);
      });
    ask();
  }

  #take(agent, { generation, instances }) {
    agent.generation = generation;
    agent.instances = instances;
    agent.onDesired(
      machineIdOf(agent.n),
      instances.map(({ id }) => id),
    );
    this.#report(agent);
  }

  /** Reports every instance as running, stopped or erased without delay. */
  #report(agent) {
    // Like the real agent, waits for the previous response, so that each agent has at most one connection for reports.
    if (agent.reporting) return;
    agent.reporting = true;
    const { n, generation, instances } = agent;
    agent.sequence += 1;
    const phases = { running: 'RUNNING', stopped: 'STOPPED', absent: 'ERASED' };
    const observed = instances.map(({ id, phase, start }) => {
      return {
        id,
        phase: phases[phase],
        start,
        pulledBytes: null,
        totalBytes: null,
        message: null,
        exitCode: null,
        restarts: 0,
      };
    });
    const body = JSON.stringify({
      ...{ protocol: 2, session: 'bench', sequence: agent.sequence, generation, instances: observed },
      ...{ unknown: [], engine: 'ok', ...(this.measures && { samples: observed.map(sampleOf) }) },
    });
    const headers = { Authorization: `Bearer ${tokenOf(n)}`, Connection: 'close' };
    const socket = connectTo(agent);
    let head = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      head += chunk;
    });
    let fault = 'closed';
    socket.on('error', ({ code }) => {
      fault = code;
    });
    socket.on('close', () => {
      agent.reporting = false;
      const status = head.slice(9, 12);
      if (status === '200') {
        this.reports += 1;
        agent.reportedAt = performance.now();
      } else if (!this.#isOver) this.#refuse(status || fault);
    });
    socket.write(requestBytes({ method: 'POST', path: '/agent/v1/report', headers, body }));
  }
}

function connectTo(agent) {
  agent.turn += 1;
  return connect({ port: agent.ports[agent.turn % agent.ports.length], host: '127.0.0.1', noDelay: true });
}

/** Returns a sample for an instance with one GPU. */
function sampleOf({ id, start }) {
  return {
    ...{ id, start, age: 1, cpuPercent: 100 * Math.random(), memoryUsedBytes: Math.floor(1e11 * Math.random()) },
    ...{
      diskUsedBytes: 41_205_000_000,
      networkInBytesPerSecond: 1_250_000,
      networkOutBytesPerSecond: 48_000,
      processes: 42,
    },
    gpus: [
      {
        ...{ place: 0, busyPercent: Math.floor(100 * Math.random()), memoryUsedMb: 20_113, memoryTotalMb: 24_564 },
        ...{ powerWatts: 412.6, celsius: 71, smMhz: 2_520, faults: 0, processes: 1 },
      },
    ],
  };
}

function wholeAnswer(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const status = Number(text.slice(9, 12));
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
  const body = text.slice(end + 4);
  return body.length < length ? null : { status, body };
}
