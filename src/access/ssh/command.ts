import type { Socket } from 'node:net';
import type { ServerChannel } from 'ssh2';
import type { ExecTarget } from '../../agent-protocol/tunnel-protocol.js';
import type { Opener } from '../../domain/fleet/reach.js';
import { type Tunnel, TunnelRefused, type Tunnels } from '../tunnels.js';

/** Exit code that ssh itself uses if no command was run. */
const NO_COMMAND = 255;
/** Time that a client has to display the reason before it is disconnected. */
export const READS_WITHIN_MS = 1_000;

/** A connection that has logged in. */
export interface Connected {
  opener: Opener;
  instanceId: string;
  /** Container user that commands run as, or null for the container's own. */
  user: string | null;
  socket: Socket;
  tunnels: Tunnels;
  /** Called when the instance or the key is gone, so that nothing more can be opened on this connection. */
  onCut(): void;
}

/** Opens a tunnel for a command that runs as the login's user. */
export function openCommand(
  { tunnels, opener, instanceId, user }: Connected,
  target: ExecTarget,
  signal?: AbortSignal,
): Promise<Tunnel> {
  return tunnels.open({ opener, instanceId, target: user === null ? target : { ...target, user } }, signal);
}

/**
 * Opens a tunnel, passes it to `use`, and closes the channel with the command's exit code. If the tunnel is refused,
 * the client is shown the reason.
 */
export async function withTunnel(
  channel: ServerChannel,
  connected: Connected,
  target: ExecTarget,
  use: (tunnel: Tunnel) => Promise<void>,
): Promise<void> {
  const { instanceId, onCut } = connected;
  const gone = new AbortController();
  channel.once('close', () => gone.abort());
  channel.on('error', () => {});
  try {
    const tunnel = await openCommand(connected, target, gone.signal);
    let fault: Error | null = null;
    tunnel.once('error', (error) => {
      fault = error;
    });
    await use(tunnel);
    if (fault !== null && tunnel.exitCode === undefined) throw fault;
    finish(channel, tunnel.exitCode ?? NO_COMMAND);
  } catch (error) {
    const isKnown = error instanceof TunnelRefused;
    if (!gone.signal.aborted) {
      channel.stderr.write(`${isKnown ? error.message : `the connection to ${instanceId} was lost`}\r\n`);
    }
    finish(channel, NO_COMMAND);
    if (isKnown && (error.reason === 'unknown' || error.reason === 'ending' || error.reason === 'stopped')) {
      // A client whose connection ends immediately would not display the reason.
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
