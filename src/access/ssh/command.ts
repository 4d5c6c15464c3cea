import type { Socket } from 'node:net';
import type { ServerChannel } from 'ssh2';
import type { ExecTarget } from '../../agent/stream-protocol.js';
import type { Opener } from '../../domain/fleet/reach.js';
import { type AgentStream, StreamRefused, type Streams } from '../streams.js';

/** Of ssh itself: there was no command to end with a code. */
const NO_COMMAND = 255;
const READS_WITHIN_MS = 1_000;

/** A connection that has logged in. */
export interface Connected {
  opener: Opener;
  instanceId: string;
  socket: Socket;
  streams: Streams;
  /** The instance or the key is gone: nothing more can be opened over this connection. */
  onCut(): void;
}

/** Opens the stream, has it used, and ends the channel as the command ended; says why when there is none. */
export async function withStream(
  channel: ServerChannel,
  connected: Connected,
  target: ExecTarget,
  use: (stream: AgentStream) => Promise<void>,
): Promise<void> {
  const { streams, opener, instanceId, onCut } = connected;
  const gone = new AbortController();
  channel.once('close', () => gone.abort());
  channel.on('error', () => {});
  try {
    const stream = await streams.open({ opener, instanceId, target }, gone.signal);
    let fault: Error | null = null;
    stream.once('error', (error) => {
      fault = error;
    });
    await use(stream);
    if (fault !== null && stream.exitCode === undefined) throw fault;
    finish(channel, stream.exitCode ?? NO_COMMAND);
  } catch (error) {
    const isKnown = error instanceof StreamRefused;
    if (!gone.signal.aborted) {
      channel.stderr.write(`${isKnown ? error.message : `the connection to ${instanceId} was cut off`}\r\n`);
    }
    finish(channel, NO_COMMAND);
    if (isKnown && (error.reason === 'unknown' || error.reason === 'ending' || error.reason === 'stopped')) {
      // A client that is told at once that the connection ends does not show why.
      channel.once('close', onCut);
      setTimeout(onCut, READS_WITHIN_MS).unref();
    }
  }
}

function finish(channel: ServerChannel, code: number): void {
  if (!channel.writable) return;
  channel.exit(code);
  channel.end();
}
