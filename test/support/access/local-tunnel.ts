import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { Duplex, PassThrough } from 'node:stream';
import type { Tunnel } from '../../../src/access/tunnels.js';

/** Runs a command on this computer instead of in a container. */
export class LocalTunnel extends Duplex implements Tunnel {
  readonly id = 'local';
  readonly stderr = new PassThrough();
  readonly replay = null;
  readonly wasTaken = false;
  exitCode: number | null | undefined;
  readonly #child: ChildProcessWithoutNullStreams;

  constructor([file, ...args]: readonly [string, ...string[]], env: Record<string, string>) {
    super();
    this.#child = spawn(file, args, { env });
    this.#child.stdin.on('error', () => {});
    this.#child.stdout.on('data', (chunk) => this.push(chunk) || this.#child.stdout.pause());
    this.#child.stderr.pipe(this.stderr);
    this.#child.once('close', (code) => {
      this.exitCode = code;
      this.push(null);
      this.once('end', () => this.destroy());
    });
  }

  override _read(): void {
    this.#child.stdout.resume();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.#child.stdin.destroyed) done();
    else this.#child.stdin.write(chunk, () => done());
  }

  override _final(done: () => void): void {
    this.#child.stdin.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#child.kill('SIGHUP');
    done(error);
  }

  resize(): void {}
  signal(): void {}
  hangUp(): void {}
}
