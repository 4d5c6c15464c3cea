import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DesiredInstance, VolumeAccess } from '../../../src/agent-protocol/protocol.js';
import { freePort } from '../free-port.js';
import { emptyRepository, keyFile, masterOf, object } from '../restic-repository.js';
import { find } from '../tools.js';
import { until } from '../until.js';

const PASSWORD = 'hush-repository';
const run = promisify(execFile);

type Wanted = NonNullable<DesiredInstance['volumes']>;

/** rclone's server of restic repositories behind the lease rule, which refuses requests without the newest lease. */
export class ResticStore {
  /** The newest lease of each volume. */
  readonly leases = new Map<string, number>();
  snapshotSeconds = 3_600;
  /** Whether the store responds to every request with 503. */
  isDown = false;
  /** The snapshots that starts restore if not the newest one, by volume. */
  readonly restores = new Map<string, string>();
  /** Requests so far, as method and kind of object. */
  readonly requests: string[] = [];
  readonly dir = mkdtempSync(join(tmpdir(), 'restic-store-'));

  private constructor(
    private readonly port: number,
    private readonly child: ChildProcess,
  ) {}

  static async open(): Promise<ResticStore> {
    const port = await freePort();
    const dir = mkdtempSync(join(tmpdir(), 'restic-store-'));
    const args = ['serve', 'restic', '--addr', `127.0.0.1:${port}`, '--config', '/dev/null', dir];
    const store = new ResticStore(port, spawn(find('rclone')!, args, { stdio: 'ignore' }));
    rmSync(store.dir, { recursive: true });
    Object.assign(store, { dir });
    const answers = () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      );
    await until('the store answers', answers, 20_000);
    return store;
  }

  /**
   * Creates the volume's repository with a key that is cheap to derive. The key that the first snapshot would create
   * would cost restic half a second per call.
   */
  make(id: string): void {
    for (const folder of ['keys', 'data', 'locks', 'snapshots', 'index'])
      mkdirSync(join(this.dir, id, folder), { recursive: true });
    for (const { kind, name, bytes } of emptyRepository(PASSWORD).objects)
      writeFileSync(join(this.dir, id, kind, name), bytes);
  }

  /** Changes the password like `restic key passwd`. */
  changePassword(id: string): void {
    const folder = join(this.dir, id, 'keys');
    const [old] = readdirSync(folder);
    const { name, bytes } = object('keys', keyFile('another', masterOf(readFileSync(join(folder, old!)), PASSWORD)));
    rmSync(join(folder, old!));
    writeFileSync(join(folder, name), bytes);
  }

  clearRequests(): void {
    this.requests.length = 0;
  }

  access(wanted: Wanted): VolumeAccess['volumes'] {
    return wanted.flatMap(({ id, lease }) => {
      if (lease === null || this.leases.get(id) !== lease) return [];
      const snapshot = this.restores.get(id) ?? this.snapshots(id).at(-1);
      const restore = snapshot === undefined ? null : { snapshot, sizeBytes: null };
      const { snapshotSeconds } = this;
      const token = tokenOf(lease);
      return [{ id, lease, path: `/volumes/${id}/`, token, password: PASSWORD, restore, snapshotSeconds }];
    });
  }

  /** Returns the ids of a volume's snapshots, newest last. */
  snapshots(id: string): string[] {
    return [...(this.#seen.get(id) ?? [])].filter((name) => this.#stored(id).includes(name));
  }

  /** Runs restic as the owner, regardless of leases. */
  async restic(id: string, ...args: string[]): Promise<string> {
    const env = { ...process.env, RESTIC_PASSWORD: PASSWORD, RESTIC_CACHE_DIR: join(this.dir, 'cache') };
    const repository = `rest:http://127.0.0.1:${this.port}/${id}/`;
    const { stdout } = await run(find('restic')!, ['-r', repository, ...args], { env, maxBuffer: 1e8 });
    this.#look(id);
    return stdout;
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    const [, , id = '', kind = ''] = request.url!.split('/');
    this.requests.push(`${request.method} ${kind}`);
    const [user, token] = Buffer.from(request.headers.authorization?.slice(6) ?? '', 'base64')
      .toString()
      .split(':');
    const lease = this.leases.get(id);
    const status = this.isDown ? 503 : Number(user) === lease && token === tokenOf(lease) ? 200 : 403;
    if (status !== 200) {
      response.writeHead(status).end();
      return;
    }
    const { authorization: _, ...headers } = request.headers;
    const path = request.url!.replace('/volumes', '');
    const passed = httpRequest(
      { port: this.port, host: '127.0.0.1', path, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response).on('close', () => this.#look(id));
      },
    );
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  }

  async close(): Promise<void> {
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await gone;
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** The ids of snapshots by volume, in order of arrival. */
  readonly #seen = new Map<string, Set<string>>();

  #look(id: string): void {
    const seen = this.#seen.get(id) ?? new Set();
    for (const name of this.#stored(id)) seen.add(name);
    this.#seen.set(id, seen);
  }

  #stored(id: string): string[] {
    const dir = join(this.dir, id, 'snapshots');
    mkdirSync(dir, { recursive: true });
    return readdirSync(dir).filter((name) => /^[a-f0-9]{64}$/.test(name));
  }
}

function tokenOf(lease: number): string {
  return `lease-${lease}`;
}
