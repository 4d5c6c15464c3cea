import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../support/settings.mjs';
import { call, until } from './tools.mjs';

/**
 * A gateway at a fixed port, which can be killed and started again. `command` starts it elsewhere, such as on a node.
 * Without `databaseUrl`, `env` names its database.
 */
export class Gateway {
  #child = null;

  constructor(port, { folder, databaseUrl, env = {}, command = [] }) {
    Object.assign(this, { port, folder, databaseUrl, env, command });
  }

  get log() {
    return join(this.folder, `gateway-${this.port}.log`);
  }

  start() {
    this.spawn();
    return until(`gateway ${this.port} is ready`, () => {
      if (!this.#hasEnded()) return this.isReady();
      throw new Error(`gateway ${this.port} exited: ${readFileSync(this.log, 'utf8').slice(-2_000)}`);
    });
  }

  spawn() {
    const log = openSync(this.log, 'a');
    const { PATH = '/usr/bin:/bin', GATEWAY_MAIN = join(PROJECT, 'dist/gateway.mjs') } = process.env;
    const [file, ...args] = [...this.command, process.execPath, GATEWAY_MAIN];
    this.#child = spawn(file, args, {
      cwd: this.folder,
      env: {
        ...{ PATH: `${PATH}:/usr/sbin`, PORT: String(this.port), SSH_PORT: '' },
        ...{ DATABASE_URL: this.databaseUrl, RATE_LIMIT_PER_MINUTE: '0', ...this.env },
      },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
  }

  async isReady() {
    const answer = await call(this.port, 'GET', '/readyz').catch(() => null);
    return answer?.status === 200;
  }

  kill() {
    this.#child.kill('SIGKILL');
  }

  async end() {
    if (this.#hasEnded()) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }

  #hasEnded() {
    return this.#child === null || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
