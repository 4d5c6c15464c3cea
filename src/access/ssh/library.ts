import type { Socket } from 'node:net';
import type { Channel, Connection } from 'ssh2';

/** Parts of the library that it doesn't expose. */
interface Inside {
  _sock: Socket;
  _chanMgr: { add(opened: Opened): number };
  _protocol: {
    openssh_authAgent(channel: number, window: number, packet: number): void;
    channelOpenFail(recipient: number, reason: number, description: string): void;
  };
}

type Opened = ((error: Error | undefined, channel: Channel) => void) & { type: string };

const AGENT_CHANNEL = 'auth-agent@openssh.com';
/** The library's own values. */
const WINDOW_BYTES = 2_097_152;
const PACKET_BYTES = 32_768;

/** Returns the connection's socket, which the library doesn't expose. */
export function socketOf(client: Connection): Socket {
  return inside(client)._sock;
}

/** Opens a channel to the client's agent. */
export function openAgentChannel(client: Connection): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const opened = (error: Error | undefined, channel: Channel) => (error ? reject(error) : resolve(channel));
    const id = inside(client)._chanMgr.add(Object.assign(opened, { type: AGENT_CHANNEL }));
    if (id < 0) return reject(new Error('too many channels'));
    inside(client)._protocol.openssh_authAgent(id, WINDOW_BYTES, PACKET_BYTES);
  });
}

/** Refuses a channel with a message, which the library would otherwise omit. */
export function refuseChannel(client: Connection, reject: () => void, message: string): void {
  const protocol = inside(client)._protocol;
  const fail = protocol.channelOpenFail;
  protocol.channelOpenFail = (recipient, reason) => fail.call(protocol, recipient, reason, message);
  try {
    reject();
  } finally {
    protocol.channelOpenFail = fail;
  }
}

function inside(client: Connection): Inside {
  return client as unknown as Inside;
}
