import type { Channel, Connection } from 'ssh2';
import { ByteQueue } from '../../std/untrusted/byte-queue.js';
import type { Tunnel } from '../tunnels.js';
import type { Connected } from './command.js';
import { firstEvent } from './first-event.js';
import { openAgentChannel } from './library.js';
import { listenUnix } from './relay.js';

const HEAD_BYTES = 8;
/**
 * Maximum frame size. Our program inside sends less at a time. It may be replaced by a program that sends more, but
 * nothing depends on that.
 */
const MAX_FRAME_BYTES = 65_536;
/** Maximum concurrent connections from programs inside to the client's agent. */
const MAX_OPEN = 16;

/** Exposes the client's SSH agent as a socket inside the instance for as long as the SSH connection lasts. */
export class AgentForwarding {
  readonly #client: Connection;
  readonly #connected: Connected;
  readonly #channels = new Map<number, Channel | null>();
  #path: Promise<string> | null = null;

  constructor(client: Connection, connected: Connected) {
    this.#client = client;
    this.#connected = connected;
  }

  /** Returns the socket's path. If there is no socket, rejects with the reason. */
  path(): Promise<string> {
    this.#path ??= this.#listen();
    return this.#path;
  }

  async #listen(): Promise<string> {
    const [tunnel, path] = await listenUnix(this.#connected);
    const { socket } = this.#connected;
    const end = () => tunnel.destroy();
    socket.once('close', end);
    tunnel.once('close', () => {
      socket.off('close', end);
      this.#path = null;
      for (const channel of this.#channels.values()) channel?.close();
      this.#channels.clear();
    });
    if (socket.destroyed) end();
    void this.#serve(tunnel);
    return path;
  }

  async #serve(tunnel: Tunnel): Promise<void> {
    const pending = new ByteQueue();
    try {
      for await (const chunk of tunnel as AsyncIterable<Buffer>) {
        pending.push(chunk);
        while (pending.length >= HEAD_BYTES) {
          const head = pending.peek();
          const [id, length] = [head.readUInt32BE(0), head.readUInt32BE(4)];
          if (length > MAX_FRAME_BYTES) return void tunnel.destroy();
          if (pending.length < HEAD_BYTES + length) break;
          await this.#pass(tunnel, id, pending.take(HEAD_BYTES + length).subarray(HEAD_BYTES));
        }
      }
    } catch {
      // The tunnel was disconnected.
    }
    tunnel.destroy();
  }

  async #pass(tunnel: Tunnel, id: number, bytes: Buffer): Promise<void> {
    let channel = this.#channels.get(id);
    if (bytes.length === 0) {
      this.#channels.delete(id);
      channel?.end();
      return;
    }
    if (channel === undefined) {
      if (this.#channels.size >= MAX_OPEN) return void tunnel.write(frame(id, Buffer.alloc(0)));
      this.#channels.set(id, null);
      channel = await this.#open(tunnel, id);
    }
    if (channel !== null && !channel.destroyed && !channel.write(bytes)) await firstEvent(channel, 'drain', 'close');
  }

  /**
   * Opens a channel to the client's agent. Returns null if the client accepts none, which ends the connection inside.
   */
  async #open(tunnel: Tunnel, id: number): Promise<Channel | null> {
    const channel = await openAgentChannel(this.#client).catch(() => null);
    const end = () => {
      this.#channels.delete(id);
      if (!tunnel.destroyed) tunnel.write(frame(id, Buffer.alloc(0)));
    };
    if (channel === null) {
      end();
      return null;
    }
    this.#channels.set(id, channel);
    channel.on('error', () => {});
    channel.on('data', (data: Buffer) => {
      for (let at = 0; at < data.length; at += MAX_FRAME_BYTES) {
        if (tunnel.write(frame(id, data.subarray(at, at + MAX_FRAME_BYTES)))) continue;
        channel.pause();
        void firstEvent(tunnel, 'drain', 'close').then(() => channel.resume());
      }
    });
    channel.once('close', end);
    return channel;
  }
}

function frame(id: number, bytes: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(id, 0);
  head.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([head, bytes]);
}
