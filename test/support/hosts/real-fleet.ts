import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pino } from 'pino';
import { MachineFile } from '../../../src/agent/machine-file.js';
import { readConfig } from '../../../src/compose/config.js';
import { type Gateway, openGateway } from '../../../src/compose/gateway.js';
import { systemClock } from '../../../src/std/system-clock.js';
import { createTestDatabase } from '../database.js';
import { freePort } from '../free-port.js';
import { client, type Renter } from '../gateway.js';
import { admin, adminJson } from '../operator.js';
import { cleanUp, type Env, embeddedUrl, folder, type GatewayProcess, query, startProcess } from '../process.js';
import { POLL_EVERY_MS, until } from '../until.js';
import { runAgent } from './agent-process.js';
import { type EngineName, startEngine, type TestEngine } from './engines.js';
import { mountsBelow } from './leftovers.js';
import type { TestRegistry } from './registry.js';
import { sharedEngine, sharedRegistry } from './shared.js';

const TEMPLATE = 'busybox';
const VRAM_MB = 24_564;
const DISK_GB = 100;
const GPU_NAME = 'NVIDIA GeForce RTX 4090';
/** Replaces nvidia-smi, the only program of a host that the tests' computer may lack. */
function nvidiaSmi(uuids: readonly string[]): string {
  const lines = uuids.map((uuid, index) => `${index}, ${uuid}, ${GPU_NAME}, ${VRAM_MB}, 4, 570.00`);
  return `#!/bin/sh\ncase "$1" in --query-gpu=*) echo "${lines.join('\n')}" ;; *) exit 1 ;; esac\n`;
}

export interface Instance {
  id: string;
  status: string;
  machine_id: string;
}

export interface SeenRuntime {
  phase: string;
  pulledBytes: string | number | null;
  totalBytes: string | number | null;
  message: string | null;
  exitCode: number | null;
  restarts: number;
  reachable: boolean;
}

export interface FleetOptions {
  engineName?: EngineName;
  /** Whether the test file has its own engine, which it needs if it ends the engine. */
  startsEngine?: boolean;
  /** Whether the gateway is a separate process that can be killed and measured. That takes 2 CPU-seconds longer. */
  hasProcess?: boolean;
}

/** The gateway, agents and engine as separate processes, and a registry with the images of the templates. */
export class RealFleet {
  readonly hosts: RealHost[] = [];
  #process: GatewayProcess | null = null;
  #here: Gateway | null = null;

  private constructor(
    readonly engine: TestEngine,
    readonly registry: TestRegistry,
    readonly env: Env,
    private readonly hasProcess: boolean,
  ) {}

  /** Opens a fleet. `more` is added to the gateway's environment. */
  static async open(
    more: Env = {},
    { engineName = 'podman', startsEngine = false, hasProcess = true }: FleetOptions = {},
  ): Promise<RealFleet> {
    const registry = await sharedRegistry();
    const registries = [registry.at, registry.slowAt, registry.closedAt];
    const engine = await (startsEngine ? startEngine(engineName, registries) : sharedEngine(engineName));
    // Agents must find the restarted gateway at its previous address.
    const env = {
      DATABASE_URL: more.DATABASE_URL ?? (await createTestDatabase()),
      PORT: String(await freePort()),
      RATE_LIMIT_PER_MINUTE: '0',
      ...more,
    };
    const fleet = new RealFleet(engine, registry, env, hasProcess);
    await registry.push('busybox');
    for (const tag of ['latest', '1']) await engine.pull(`${registry.at}/busybox:${tag}`);
    await fleet.startGateway();
    await fleet.template(TEMPLATE, `${registry.at}/busybox`);
    return fleet;
  }

  get gatewayPid(): number {
    return this.#process!.pid;
  }

  /** Everything that the gateway has written to its two output streams since its last start. */
  get gatewayOutput(): string {
    return this.#process === null ? '' : this.#process.stdout() + this.#process.stderr();
  }

  get address(): string {
    return (this.#process ?? this.#here)!.address;
  }

  async startGateway(): Promise<void> {
    if (this.hasProcess) this.#process = await startProcess(this.env);
    else this.#here = await gatewayHere(this.env);
  }

  async killGateway(): Promise<void> {
    await this.#process!.kill();
  }

  /** Creates a template that uses tag 1 of the image. */
  async template(slug: string, image: string, rest: object = {}): Promise<void> {
    const file = join(folder(), 'templates.json');
    writeFileSync(file, JSON.stringify([{ slug, image: `${image}:1`, description: slug, ...rest }]));
    await adminJson(['template', 'import', file], this.env);
  }

  /** Creates a host that has joined and is offered, and whose agent is running. */
  async host(env: Record<string, string> = {}, gpus = 1): Promise<RealHost> {
    const host = await this.enrolled(gpus);
    await adminJson(['machine', 'online', host.machineId], this.env);
    host.start(env);
    await until('the machine is offered', () => this.isOffered(host.machineId), 60_000, POLL_EVERY_MS).catch(
      async (error) => {
        const { stdout } = await admin(['machine', 'list', '--json'], this.env);
        const gateway = this.gatewayOutput.slice(-2_000);
        throw new Error(
          `${error.message}; its agent: ${host.log.slice(-2_000)}\nmachines: ${stdout}\ngateway: ${gateway}`,
        );
      },
    );
    return host;
  }

  /** Creates a host that has joined but isn't offered yet. */
  async enrolled(gpus = 1): Promise<RealHost> {
    const { machine_id, code } = await adminJson(['machine', 'enroll', '--region', 'us-tx'], this.env);
    const host = new RealHost(machine_id, folder(), this.engine, gpus);
    await host.join(this.address, code);
    // Machines with little disk aren't offered, but tests need little and run on computers with little space.
    const database = this.env.DATABASE_URL || (await embeddedUrl(this.env.DATA_DIR!));
    await query(database, 'update machine set disk_gb = greatest(disk_gb, $2) where host_id = $1', [
      machine_id,
      DISK_GB,
    ]);
    this.hosts.push(host);
    return host;
  }

  async isOffered(machineId: string): Promise<boolean> {
    const { body } = await client(this.address).graphql(`{ offer(machineId: "${machineId}") { machineId } }`);
    return body.data.offer !== null;
  }

  async renter(): Promise<RealRenter> {
    const account = await adminJson(['account', 'create', '--name', 'Renter', '--credit', '1000'], this.env);
    const key = await adminJson(['key', 'create', '--account', account.id], this.env);
    return new RealRenter(client(this.address, key.api_key, account.id));
  }

  /** Returns the findings of `admin audit`, or an empty string if there are none. */
  async audit(): Promise<string> {
    const { code, stdout, stderr } = await admin(['audit'], this.env);
    return code === 0 ? '' : `${code}: ${stdout}${stderr}`;
  }

  /** The files of instances' disks and their mounts on all hosts. */
  get disks(): string[] {
    return this.hosts.flatMap(({ dataDir }) => mountsBelow(dataDir));
  }

  async close(): Promise<void> {
    for (const host of this.hosts) await host.end();
    await this.engine.close();
    for (const { dataDir } of this.hosts) {
      for (const target of mountsBelow(dataDir).reverse()) execFileSync('umount', ['-l', target]);
    }
    await this.#process?.end();
    await this.#here?.close();
    await this.registry.close();
    await cleanUp();
  }
}

/** Opens a gateway of a fleet within the tests' own process. It may be the only or the second one. */
export function gatewayHere(env: Env): Promise<Gateway> {
  const config = readConfig({ SSH_PORT: '', DATA_DIR: folder(), ...env });
  return openGateway({ ...config, seed: 'none' }, systemClock, pino({ level: 'silent' }));
}

/** A host of the fleet, with its data folder and its agent. */
export class RealHost {
  #agent: ReturnType<typeof runAgent> | null = null;
  readonly #logs: string[] = [];

  constructor(
    readonly machineId: string,
    readonly dataDir: string,
    readonly engine: TestEngine,
    readonly gpus: number,
  ) {}

  /** Joins as an operator does. The output of nvidia-smi and the containers' devices are simulated. */
  async join(url: string, code: string): Promise<void> {
    const bin = folder();
    const uuids = Array.from({ length: this.gpus }, (_, place) => `GPU-${this.machineId}-${place}`);
    writeFileSync(join(bin, 'nvidia-smi'), nvidiaSmi(uuids), { mode: 0o755 });
    const PATH = `${bin}${delimiter}${process.env.PATH}`;
    const exit = await runAgent(['join', url, code, ...this.#options], { PATH }).ended;
    if (exit.code !== 0) throw new Error(`join: ${exit.code}: ${exit.stdout}${exit.stderr}`);
    const file = new MachineFile(this.dataDir);
    const pretended = { count: this.gpus, name: GPU_NAME, vramMb: VRAM_MB, uuids };
    file.write({ ...file.read()!, pretended });
  }

  start(env: Record<string, string> = {}): void {
    this.#agent = runAgent(['run', ...this.#options], {
      LOG_LEVEL: 'debug',
      GPU_AGENT_STOP_SECONDS: '2',
      GPU_AGENT_REGISTRIES: this.engine.registries.join(),
      ...env,
    });
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const exit = await this.#agent?.end(signal);
    this.#logs.push(exit?.stderr ?? '');
    this.#agent = null;
  }

  get log(): string {
    return [...this.#logs, this.#agent?.stderr() ?? ''].join('');
  }

  /** Address of the gateway that the host has joined. */
  get gateway(): string {
    return new MachineFile(this.dataDir).read()!.gateway;
  }

  get token(): string {
    return new MachineFile(this.dataDir).read()!.token;
  }

  get #options(): string[] {
    return ['--data-dir', this.dataDir, '--engine', this.engine.socket];
  }
}

const RUNTIME = 'phase pulledBytes totalBytes message exitCode restarts reachable';

/** An account, used through REST and GraphQL. */
export class RealRenter {
  constructor(readonly api: Renter) {}

  async deploy(machineId: string, rest: object = {}): Promise<Instance> {
    const body = { machine_id: machineId, template: TEMPLATE, disk_gb: 10, ...rest };
    return this.#done(await this.api.rest('POST', '/instances', body), 201);
  }

  async act(id: string, action: 'start' | 'stop'): Promise<Instance> {
    return this.#done(await this.api.rest('POST', `/instances/${id}/actions`, { action }), 200);
  }

  async destroy(id: string): Promise<Instance> {
    return this.#done(await this.api.rest('DELETE', `/instances/${id}`), 200);
  }

  async destroyAll(withinMs?: number): Promise<void> {
    for (const { id } of await this.instances()) {
      await this.destroy(id);
      await this.phase(id, 'ERASED', withinMs);
    }
  }

  async instances(): Promise<Instance[]> {
    // REST doesn't show which machine an instance is on.
    const { body } = await this.api.graphql('{ instances { id status machine { id } } }');
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    return body.data.instances.map(
      ({ id, status, machine }: { id: string; status: string; machine: { id: string } }) => {
        return { id, status: status.toLowerCase(), machine_id: machine.id };
      },
    );
  }

  async seen(id: string): Promise<{ status: string; stopReason: string | null; runtime: SeenRuntime }> {
    const { body } = await this.api.graphql(`{ instance(id: "${id}") { status stopReason runtime { ${RUNTIME} } } }`);
    if (body.errors) throw new Error(JSON.stringify(body.errors));
    return body.data.instance;
  }

  /** Waits until an instance's container has a phase, and returns the instance at that time. */
  async phase(id: string, phase: string, withinMs = 20_000) {
    let last = '';
    try {
      return await until(
        `${id} is ${phase}`,
        async () => {
          const seen = await this.seen(id);
          last = JSON.stringify(seen);
          return seen.runtime.phase === phase ? seen : null;
        },
        withinMs,
        POLL_EVERY_MS,
      );
    } catch (error) {
      throw new Error(`${(error as Error).message}; last seen: ${last}`);
    }
  }

  #done<T = Instance>({ status, body }: Awaited<ReturnType<Renter['rest']>>, expected: number): T {
    if (status !== expected) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body;
  }
}
