import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface DatabaseWire {
  url: string;
  /** Ends all connections. New ones are accepted immediately. */
  cut(): void;
  /** Refuses all connections. */
  refuse(): Promise<void>;
  mend(): Promise<void>;
  /** Ends the connection for change notices and refuses new ones for notices. Other connections continue. */
  cutNotices(): void;
  mendNotices(): void;
  /** Ends the next connection that commits, after the commit but before its confirmation arrives. */
  loseNextCommit(): void;
  /** Ends the next connection that commits, before the server receives the commit. */
  holdNextCommit(): void;
  /** Lets the server receive the held commit. */
  deliverCommit(): void;
  /** Keeps all connections open, including new ones, but lets nothing through, like a frozen server. */
  freeze(): void;
  thaw(): void;
  /** Delays all notices from now on, by holding back the database's data on their connection. */
  holdNotices(): void;
  releaseNotices(): void;
  close(): Promise<void>;
}

/** Text in the first packet of a connection for notices. */
const NOTICES_NAME = 'gpu-rental-gateway notices';

/** The server's confirmation of a commit. */
const COMMITTED = Buffer.from('COMMIT\0');

/** Time for the server to commit, after which a connection without a client is ended. */
const END_AFTER_MS = 1_000;

/** Opens a proxy to a database whose faults the test controls. */
export async function openWire(target: URL): Promise<DatabaseWire> {
  const sockets = new Set<Socket>();
  /** Both ends of the connections for notices. */
  const notices = new Map<Socket, Socket>();
  const broken = { all: false, notices: false };
  let isHeld = false;
  let losesCommit = false;
  let holdsCommit = false;
  let deliver = () => {};
  /** Ends of connections whose clients are gone, but whose commit is held. */
  const held = new Set<Socket>();
  let isFrozen = false;
  /** Connections accepted while frozen. They are never served. */
  const frozen = new Set<Socket>();
  const unlessLost = (near: Socket) =>
    new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        if (!losesCommit || !chunk.includes(COMMITTED)) return done(null, chunk);
        losesCommit = false;
        near.destroy();
        done();
      },
    });
  const unlessHeld = (near: Socket, far: Socket) =>
    new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        if (!holdsCommit || !/commit/i.test(chunk.toString('latin1'))) return done(null, chunk);
        holdsCommit = false;
        held.add(far);
        deliver = () => void far.write(chunk, () => setTimeout(() => far.destroy(), END_AFTER_MS));
        near.destroy();
        done();
      },
    });
  const server: Server = createServer((near) => {
    near.on('error', () => {});
    if (broken.all) return void near.destroy();
    if (isFrozen) return void frozen.add(near);
    const far = dial(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        notices.delete(socket);
        if (!held.has(other)) other.destroy();
      });
    }
    near.once('data', (first) => {
      far.write(first);
      near.pipe(unlessHeld(near, far)).pipe(far, { end: false });
      const isForNotices = first.includes(NOTICES_NAME);
      if (isForNotices && broken.notices) return void near.destroy();
      if (isForNotices) notices.set(near, far);
      if (isForNotices && !isHeld) far.pipe(near);
      else if (!isForNotices) far.pipe(unlessLost(near)).pipe(near);
    });
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const stop = () => new Promise<void>((resolve) => void server.close(() => resolve()));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    cut: () => {
      broken.all = true;
      for (const socket of sockets) socket.destroy();
    },
    refuse: stop,
    mend: async () => {
      broken.all = false;
      if (!server.listening) await listen(port);
    },
    cutNotices: () => {
      broken.notices = true;
      for (const [near] of notices) near.destroy();
    },
    mendNotices: () => {
      broken.notices = false;
    },
    loseNextCommit: () => {
      losesCommit = true;
    },
    holdNextCommit: () => {
      holdsCommit = true;
    },
    deliverCommit: () => deliver(),
    freeze: () => {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw: () => {
      isFrozen = false;
      for (const socket of frozen) socket.destroy();
      for (const socket of sockets) socket.resume();
    },
    holdNotices: () => {
      isHeld = true;
      for (const [near, far] of notices) far.unpipe(near).pause();
    },
    releaseNotices: () => {
      isHeld = false;
      for (const [near, far] of notices) far.pipe(near);
    },
    close: stop,
  };
}
