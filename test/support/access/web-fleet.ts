import { join } from 'node:path';
import type { Gateway } from '../../../src/compose/gateway.js';
import { hashWebPass } from '../../../src/domain/web-ports/rules/web-pass.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { freePort } from '../free-port.js';
import { client, createRenter, type Renter } from '../gateway.js';
import { gatewayHere, RealFleet, type RealHost } from '../hosts/real-fleet.js';
import type { Env } from '../process.js';

const WEB = 'web';
export const DOMAIN = 'gpu.localhost';
/** Files that the container needs in addition to Node. */
const FILES = {
  'app/server.mjs': join(import.meta.dirname, 'web-server.mjs'),
  'app/ws': join(PACKAGE_ROOT, 'node_modules/ws'),
};

/**
 * Two gateways on one database, a host whose agent polls the first one, and an instance with servers on ports 8080 to
 * 8082.
 */
export class WebFleet {
  private constructor(
    readonly fleet: RealFleet,
    readonly host: RealHost,
    /** The second gateway, which runs in this process. */
    readonly second: Gateway,
    readonly renter: Renter,
    readonly stranger: Renter,
    readonly instanceId: string,
  ) {}

  /** Opens everything. `more` is added to the first gateway's environment. */
  static async open(more: Env = {}): Promise<WebFleet> {
    const fleet = await RealFleet.open(more);
    try {
      return await WebFleet.#on(fleet);
    } catch (error) {
      await fleet.close();
      throw error;
    }
  }

  static async #on(fleet: RealFleet): Promise<WebFleet> {
    await fleet.registry.push(WEB, {
      command: [process.execPath, '/app/server.mjs'],
      programs: [process.execPath],
      files: FILES,
      ports: [8081, 8080],
    });
    await fleet.engine.pull(`${fleet.registry.at}/${WEB}:1`);
    await fleet.template(WEB, `${fleet.registry.at}/${WEB}`, { ports: [8080, 8081] });
    const [host, second] = await Promise.all([fleet.host(), secondGateway(fleet)]);
    const [renter, stranger] = await Promise.all([1, 2].map(() => createRenter(second.deps, fleet.address)));
    const web = new WebFleet(fleet, host, second, renter!, stranger!, await deployWeb(renter!, host));
    await web.running();
    return web;
  }

  /** The address of each gateway. */
  get gateways(): string[] {
    return [this.fleet.address, this.second.address];
  }

  hostOf(port?: number): string {
    return `${this.instanceId}${port === undefined ? '' : `-${port}`}.${DOMAIN}`;
  }

  async running(): Promise<void> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      const answer = await this.query(`{ instance(id: "${this.instanceId}") { runtime { phase message } } }`);
      if (answer.instance.runtime.phase === 'RUNNING') return;
      if (Date.now() > deadline) throw new Error(`does not run: ${JSON.stringify(answer)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Sends a GraphQL operation as the renter. Returns the data, or throws if there are errors. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  async query(query: string, renter: Renter = this.renter): Promise<any> {
    const { body } = await renter.graphql(query);
    if (body.errors) throw new Error(body.errors[0].message);
    return body.data;
  }

  /** Creates another key of the renter's account. */
  async anotherKey(): Promise<{ id: string; renter: Renter }> {
    const { createApiKey } = await this.query('mutation { createApiKey { apiKey { id } secret } }');
    const { secret, apiKey } = createApiKey;
    return { id: apiKey.id, renter: client(this.fleet.address, secret, this.renter.accountId) };
  }

  async link(renter: Renter = this.renter, port?: number, path?: string): Promise<URL> {
    const args = `${port === undefined ? '' : `, port: ${port}`}${path === undefined ? '' : `, path: "${path}"`}`;
    return new URL(
      (await this.query(`mutation { webLink(id: "${this.instanceId}"${args}) { url } }`, renter)).webLink.url,
    );
  }

  /** Makes links and cookies expire immediately. */
  async expire(...passes: string[]): Promise<void> {
    const { rowCount } = await this.second.deps.db.pool.query(
      `update web_pass set created_at = created_at - (expires_at - date_trunc('second', now())),
         expires_at = date_trunc('second', now()) where hash = any($1::bytea[])`,
      [passes.map(hashWebPass)],
    );
    if (rowCount !== passes.length) throw new Error(`${rowCount} of ${passes.length} passes are known`);
  }

  async close(): Promise<void> {
    await this.second.close();
    await this.fleet.close();
  }
}

async function secondGateway({ env }: RealFleet): Promise<Gateway> {
  const PORT = String(await freePort());
  return gatewayHere({ ...env, PORT, SSH_PORT: '', STREAMS_URL: `http://127.0.0.1:${PORT}` });
}

async function deployWeb(renter: Renter, host: RealHost): Promise<string> {
  const body = { machine_id: host.machineId, template: WEB, disk_gb: 5 };
  const answer = await renter.rest('POST', '/instances', body);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.id;
}
