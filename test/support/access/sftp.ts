import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { Duplex, type Readable, type Writable } from 'node:stream';
import type { ServerChannel } from 'ssh2';
import type { Connected } from '../../../src/access/ssh/command.js';
import { serveSftp } from '../../../src/access/ssh/sftp.js';
import { LocalTunnel } from './local-tunnel.js';

export interface SftpAnswer {
  type: number;
  /** The status code. Null if the response isn't a status. */
  status: number | null;
  body: Buffer;
}

type Field = number | bigint | string | Buffer;

/** Speaks SFTP with a server packet by packet. Strings have one byte per character, and Buffers are sent unchanged. */
export class SftpClient {
  readonly #to: Writable;
  readonly #waiting: ((packet: Buffer) => void)[] = [];
  readonly #end: () => void;
  #id = 0;
  #pending: Buffer = Buffer.alloc(0);

  private constructor(from: Readable, to: Writable, end: () => void) {
    this.#to = to;
    this.#end = end;
    from.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  /**
   * Opens a client of our server, whose shell works on this computer's files and finds its commands in `path`.
   */
  static async ours(shell: string, path: string): Promise<SftpClient> {
    const [client, server] = pair();
    const env = { PATH: path, HOME: '/tmp' };
    let opened = 0;
    const open = async ({ target }: { target: { argv: string[] | null } }) => {
      opened += 1;
      const argv = opened === 1 ? ['-c', `echo N; exec ${shell}`] : target.argv!.slice(1);
      return new LocalTunnel([shell, ...argv], env);
    };
    const socket = Object.assign(new EventEmitter(), { writableNeedDrain: false, destroyed: false });
    const channel = Object.assign(server, { exit: () => {} }) as unknown as ServerChannel;
    void serveSftp(channel, { tunnels: { open }, socket } as unknown as Connected);
    return new SftpClient(client, client, () => client.end()).#begun();
  }

  static openSsh(program: string): Promise<SftpClient> {
    const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'ignore'] });
    return new SftpClient(child.stdout, child.stdin, () => child.kill()).#begun();
  }

  async request(type: number, ...fields: Field[]): Promise<SftpAnswer> {
    this.#id += 1;
    const packet = await this.#send(Buffer.concat([Buffer.from([type]), encoded(this.#id), ...fields.map(encoded)]));
    const [kind, body] = [packet[0]!, packet.subarray(5)];
    return { type: kind, status: kind === 101 ? body.readUInt32BE(0) : null, body };
  }

  /** Returns the handle in a response, as a field of a request. */
  static handle({ body }: SftpAnswer): Buffer {
    return body.subarray(0, 4 + body.readUInt32BE(0));
  }

  /** Returns the first name in a response. */
  static name({ body }: SftpAnswer): string {
    return body.subarray(8, 8 + body.readUInt32BE(4)).toString('latin1');
  }

  end(): void {
    this.#end();
  }

  async #begun(): Promise<SftpClient> {
    await this.#send(Buffer.concat([Buffer.from([1]), encoded(3)]));
    return this;
  }

  #send(body: Buffer): Promise<Buffer> {
    this.#to.write(Buffer.concat([encoded(body.length), body]));
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #take(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    while (this.#pending.length >= 4) {
      const end = 4 + this.#pending.readUInt32BE(0);
      if (this.#pending.length < end) return;
      this.#waiting.shift()?.(this.#pending.subarray(4, end));
      this.#pending = this.#pending.subarray(end);
    }
  }
}

function encoded(field: Field): Buffer {
  if (Buffer.isBuffer(field)) return field;
  if (typeof field === 'string') {
    const bytes = Buffer.from(field, 'latin1');
    return Buffer.concat([encoded(bytes.length), bytes]);
  }
  const bytes = Buffer.alloc(typeof field === 'bigint' ? 8 : 4);
  if (typeof field === 'bigint') bytes.writeBigUInt64BE(field);
  else bytes.writeUInt32BE(field);
  return bytes;
}

/** Returns two streams that are connected to each other. */
function pair(): [Duplex, Duplex] {
  const ends: Duplex[] = [];
  const make = (other: number) =>
    new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        ends[other]!.push(chunk);
        done();
      },
      final(done) {
        ends[other]!.push(null);
        done();
      },
    });
  ends.push(make(1), make(0));
  return [ends[0]!, ends[1]!];
}
