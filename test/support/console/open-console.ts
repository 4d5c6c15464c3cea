import { rmSync } from 'node:fs';
import { createDeps, type Deps } from '../../../src/compose/deps.js';
import { type Database, openDatabase } from '../../../src/database/database.js';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { systemClock } from '../../../src/std/system-clock.js';
import { sharedChromium } from '../chromium.js';
import { testSettings } from '../clock.js';
import { createSharedDatabase, createTestDatabase } from '../database.js';
import { freePorts } from '../free-port.js';
import { client, createRenter, type Renter } from '../gateway.js';
import { cleanUp, type Env, type GatewayProcess, query, startProcess } from '../process.js';
import { scratchFolder } from '../scratch.js';
import { until } from '../until.js';
import { WireAgent } from '../wire-agent.js';
import { atEndOfWorker } from '../worker.js';
import { Pages, SOON_MS } from './pages.js';

let shared: Promise<OpenConsole> | undefined;

/** A gateway without a rate limit, a browser, and the domain on the same database. */
export class OpenConsole {
  private constructor(
    readonly env: Env,
    private readonly db: Database,
    readonly deps: Deps,
    /** Changes when the gateway is restarted. */
    public gateway: GatewayProcess,
    readonly pages: Pages,
    private readonly isShared: boolean,
  ) {}

  /**
   * Returns the gateway shared by this worker's test files, with every feature that a test can use. Each test must use
   * its own account, restore what all accounts see, and leave the gateway running.
   */
  static shared(): Promise<OpenConsole> {
    shared ??= OpenConsole.#openShared();
    return shared;
  }

  static async #openShared(): Promise<OpenConsole> {
    const cwd = scratchFolder('shared-console-');
    atEndOfWorker(() => rmSync(cwd, { recursive: true, force: true }));
    const { from, to } = await freePorts(11);
    const env = {
      DATABASE_URL: await createSharedDatabase(),
      RATE_LIMIT_PER_MINUTE: '0',
      SIGNUP: 'open',
      SSH_PORT: '0',
      SECRETS_KEY: 'ab'.repeat(32),
      WEBHOOK_NETWORKS: '127.0.0.1',
      TCP_PORTS: `${from}-${to - 1}`,
      // A test may run a hub on this port.
      MODEL_HUB: `http://127.0.0.1:${to}`,
    };
    return OpenConsole.#on(env, await startProcess(env, { cwd, isShared: true }), true);
  }

  /** Starts a gateway for this test file only. `more` is added to its environment. */
  static async open(more: Env = {}): Promise<OpenConsole> {
    const env = { DATABASE_URL: await createTestDatabase(), RATE_LIMIT_PER_MINUTE: '0', ...more };
    return OpenConsole.#on(env, await startProcess(env), false);
  }

  static async #on(env: Env, gateway: GatewayProcess, isShared: boolean): Promise<OpenConsole> {
    const db = openDatabase(env.DATABASE_URL!);
    const deps = createDeps(db, systemClock, testSettings());
    return new OpenConsole(env, db, deps, gateway, new Pages(await sharedChromium(), gateway.address), isShared);
  }

  renter(creditUsd = '100'): Promise<Renter> {
    return createRenter(this.deps, this.gateway.address, creditUsd);
  }

  /**
   * Returns the cheapest machine of a model with one GPU. Each test rents its own model, so tests don't compete.
   */
  async cheapest(model: string): Promise<string> {
    const { body } = await client(this.gateway.address).rest('GET', `/offers?gpu=${model}&limit=1`);
    return body.data[0].machine_id;
  }

  /** Writes to the database as another program would. */
  sql(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return query(this.env.DATABASE_URL!, text, values);
  }

  /** Rents a new machine as the renter, and returns its agent and the instance's id. */
  async rented(
    owner: Renter,
    found: Parameters<typeof WireAgent.join>[2] = {},
  ): Promise<{ agent: WireAgent; id: string }> {
    const { code } = await enrol(this.deps, { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false });
    const agent = await WireAgent.join(this.gateway.address, code, found);
    await agent.report();
    const rent = async () => {
      const { status, body } = await owner.rest('POST', '/instances', { machine_id: agent.machineId });
      return status === 201 ? (body.id as string) : null;
    };
    // The machine is offered once its first heartbeat is written.
    const id = await until('the machine is offered', rent, SOON_MS, 200);
    return { agent, id };
  }

  /** Closes what belongs to this file only. */
  async close(): Promise<void> {
    await this.pages.close();
    if (this.isShared) return;
    await this.gateway.end();
    await this.db.close();
    await cleanUp();
  }
}

/** Deploys the best machine of a model and returns the instance's id. */
export async function deployed(owner: Renter, gpu: string, name?: string): Promise<string> {
  const { body } = await owner.graphql('mutation ($input: DeployBestInput!) { deployBest(input: $input) { id } }', {
    input: { gpus: [gpu], ...(name !== undefined && { launch: { name } }) },
  });
  if (body.errors) throw new Error(`${gpu} can't be deployed: ${body.errors[0].message}`);
  return body.data.deployBest.id;
}
