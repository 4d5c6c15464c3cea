import type { Database } from '../../database/database.js';
import { Slots } from '../kernel/slots.js';
import type { Clock, Instant } from '../kernel/time.js';
import { Connections } from './connections.js';
import { DesiredStates } from './desired-state.js';
import { Heartbeats } from './heartbeats.js';
import { HostTokens } from './host-tokens.js';
import { ReceivedReports } from './received-reports.js';
import { TunnelRequests } from './tunnel-requests.js';

/** Maximum number of reports written concurrently, low enough to leave most database connections to renters. */
const MAX_CONCURRENT_WRITES = 4;
const MAX_WAITING_WRITES = 10_000;

/** The state of the host agents connected to this process. */
export class Fleet {
  readonly tokens: HostTokens;
  readonly desired: DesiredStates;
  readonly tunnelRequests: TunnelRequests;
  readonly heartbeats: Heartbeats;
  readonly received: ReceivedReports;
  /** Clients connected to instances through this process. */
  readonly connections: Connections;
  /** The time at which this process started listening. */
  readonly since: Instant;
  readonly writing = new Slots({ maxConcurrent: MAX_CONCURRENT_WRITES, maxWaiting: MAX_WAITING_WRITES });
  /** `onFault` is called with faults from background work. */
  constructor(
    db: Database,
    clock: Clock,
    readonly onFault: (error: unknown) => void,
  ) {
    this.since = clock.now();
    this.tokens = new HostTokens(db);
    this.desired = new DesiredStates(db, clock);
    this.tunnelRequests = new TunnelRequests(db.notices, (machineId) => this.desired.wake(machineId));
    this.heartbeats = new Heartbeats(db, onFault);
    this.received = new ReceivedReports(db.notices);
    this.connections = new Connections(db, clock, onFault);
  }

  /** Responds to all waiting agents, so that they connect to another gateway. */
  endWaits(): void {
    this.desired.close();
  }

  /** Writes the heartbeats received and the connection use seen so far. */
  async close(): Promise<void> {
    await Promise.all([this.heartbeats.flush(), this.connections.close()]);
  }
}
