import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openWire } from '../client-wire.js';
import { freePort } from '../free-port.js';
import { needsEngine } from '../hosts/engines.js';
import { RealFleet, type RealRenter } from '../hosts/real-fleet.js';
import { type Env, folder, type Program } from '../process.js';
import { find } from '../tools.js';

export const INSTANCE = /i-[0-9a-f]{8}/;
/** A command that ends once the file exists. */
export const WAITS = 'echo begun; until [ -e /workspace/end ]; do sleep 0.1; done; echo done; exit 5';
/** Returns the requirements of tests of `gpu run`. */
export const needsRuns = () => needsEngine('podman', 'ssh', 'ssh-keygen', 'tar', 'script');

/** A connection to the gateway's SSH that can be cut. */
export class Line {
  readonly #sockets = new Set<Socket>();
  isCut = false;
  cuts = 0;

  private constructor(
    readonly server: Server,
    readonly port: number,
  ) {}

  static async to(sshPort: number): Promise<Line> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const line = new Line(server, (server.address() as AddressInfo).port);
    server.on('connection', (client) => line.#join(client, sshPort));
    return line;
  }

  cut(): void {
    this.isCut = true;
    this.cuts += this.#sockets.size / 2;
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket, sshPort: number): void {
    if (this.isCut) return void client.destroy();
    const gateway = createConnection({ port: sshPort, host: '127.0.0.1' });
    for (const [one, other] of [
      [client, gateway],
      [gateway, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => {});
      one.once('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}

/**
 * A fleet of one host, and a renter whose connection to the gateway's SSH can be cut. It serves tests of `gpu run` and
 * of clients built on it.
 */
export class RunFleet {
  private constructor(
    readonly fleet: RealFleet,
    readonly renter: RealRenter,
    readonly line: Line,
    readonly env: Env,
  ) {}

  static async open(): Promise<RunFleet> {
    const sshPort = await freePort();
    const fleet = await RealFleet.open({ SSH_PORT: String(sshPort) }, { hasProcess: false });
    await fleet.host();
    const renter = await fleet.renter();
    const line = await Line.to(sshPort);
    const home = folder();
    mkdirSync(join(home, '.ssh'));
    writeFileSync(join(home, '.ssh/config'), `Host *\n  ProxyCommand ${find('busybox')} nc 127.0.0.1 ${line.port}\n`, {
      mode: 0o600,
    });
    const GPU_BASE_URL = `${fleet.address}/v1`;
    const env = { HOME: home, XDG_CONFIG_HOME: folder(), GPU_BASE_URL, GPU_API_KEY: renter.api.key };
    return new RunFleet(fleet, renter, line, env);
  }

  async close(): Promise<void> {
    this.line.server.close();
    await this.fleet.close();
  }

  image(name = 'busybox'): string[] {
    return ['--gpu', 'rtx-4090', '--max-price', '9', '--image', `${this.fleet.registry.at}/${name}`];
  }

  async addKey(path: string): Promise<void> {
    const publicKey = readFileSync(`${path}.pub`, 'utf8').trim();
    const { body } = await this.renter.api.graphql('mutation ($key: String!) { addSshKey(publicKey: $key) { id } }', {
      key: publicKey,
    });
    expect(body.errors).toBeUndefined();
  }

  /** Makes the command `WAITS` end. */
  async finish(id: string): Promise<void> {
    await this.fleet.engine.exec(id, 'touch', '/workspace/end');
  }

  /** Expects that no rental and no key remain and that the machine is available. */
  async nothingLeft(id: string): Promise<void> {
    expect((await this.renter.seen(id)).status).toBe('DESTROYED');
    await this.renter.phase(id, 'ERASED');
    const { body } = await this.renter.api.graphql('{ instances { id } sshKeys { id } }');
    expect(body.data).toEqual({ instances: [], sshKeys: [] });
  }

  /** Interrupts the program while it waits for the response to its deploy, and resolves to its exit code. */
  async interruptedWhileRenting(begin: (env: Env) => Program, notice: RegExp): Promise<number | null> {
    const wire = await openWire(this.fleet.address);
    let id = '';
    wire.next(async () => {
      id = (await this.renter.instances())[0]!.id;
      program.signal('SIGINT');
      await program.says(notice);
    });
    const program = begin({ GPU_BASE_URL: wire.baseUrl });
    const { code } = await program.ended;
    await wire.close();
    expect(code).not.toBe(0);
    await this.nothingLeft(id);
    return code;
  }
}

export const script = (text: string): string[] => ['--', 'sh', '-c', text];

/** Returns the id of the instance that a program reports to have rented. */
export async function idOf(program: Program): Promise<string> {
  await program.says(INSTANCE);
  return INSTANCE.exec(program.stdout() + program.stderr())![0];
}

/** Creates a folder to send with a program in it that reads the folder, writes results and exits with 3. */
export function project(): string {
  const from = join(folder(), 'a project');
  mkdirSync(join(from, 'sub'), { recursive: true });
  writeFileSync(join(from, 'sub/in put'), 'from here\n');
  writeFileSync(
    join(from, 'go.sh'),
    '#!/bin/sh\ncat "sub/in put"; echo "$MODEL" >&2; mkdir -p results/a; cp=$(pwd); echo $cp > results/a/where; exit 3\n',
  );
  chmodSync(join(from, 'go.sh'), 0o755);
  return from;
}
