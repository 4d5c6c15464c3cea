import type { Database } from '../../database/database.js';
import type { Clock, Instant } from '../rules/time.js';
import { Connections } from './connections.js';
import { DesiredStates } from './desired-state.js';
import { HeardReports } from './heard-reports.js';
import { Heartbeats } from './heartbeats.js';
import { HostTokens } from './host-tokens.js';
import { Slots } from './slots.js';
import { TunnelRequests } from './tunnel-requests.js';

/** Most reports written at once: most connections are left to renters. */
const WRITTEN_AT_ONCE = 4;
const MAX_UNWRITTEN = 10_000;

/** What this process knows of the host agents that talk to it. */
export class Fleet {
  readonly tokens: HostTokens;
  readonly desired: DesiredStates;
  readonly tunnelRequests: TunnelRequests;
  readonly heartbeats: Heartbeats;
  readonly heard: HeardReports;
  /** Who is connected to instances through this process. */
  readonly connections: Connections;
  /** When this process began to listen. */
  readonly since: Instant;
  readonly writing = new Slots({ atOnce: WRITTEN_AT_ONCE, maxWaiting: MAX_UNWRITTEN });
  /** `onFault` receives faults of background work. */
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
    this.heard = new HeardReports(db.notices);
    this.connections = new Connections(db, clock, onFault);
  }

  /** Answers the waiting agents, which then ask another gateway. */
  endWaits(): void {
    this.desired.close();
  }

  /** Writes the heartbeats heard, and the connections seen, so far. */
  async close(): Promise<void> {
    await Promise.all([this.heartbeats.flush(), this.connections.close()]);
  }
}
