import type { Database } from '../../database/database.js';
import type { Clock } from '../rules/time.js';
import { DesiredStates } from './desired-state.js';
import { HeardReports } from './heard-reports.js';
import { Heartbeats } from './heartbeats.js';
import { HostTokens } from './host-tokens.js';
import { Slots } from './slots.js';
import { TunnelRequests } from './tunnel-requests.js';

/** Reports with news that are written at once: most connections are left to those who rent. */
const WRITTEN_AT_ONCE = 4;
const MAX_UNWRITTEN = 10_000;

/** What one process knows of the host agents that talk to it. */
export class Fleet {
  readonly tokens: HostTokens;
  readonly desired: DesiredStates;
  readonly tunnelRequests: TunnelRequests;
  readonly heartbeats: Heartbeats;
  readonly heard: HeardReports;
  readonly writing = new Slots({ atOnce: WRITTEN_AT_ONCE, maxWaiting: MAX_UNWRITTEN });
  /** `onFault` is told what went wrong in the background. */
  constructor(
    db: Database,
    clock: Clock,
    readonly onFault: (error: unknown) => void,
  ) {
    this.tokens = new HostTokens(db);
    this.desired = new DesiredStates(db, clock);
    this.tunnelRequests = new TunnelRequests(db.notices, (machineId) => this.desired.wake(machineId));
    this.heartbeats = new Heartbeats(db, onFault);
    this.heard = new HeardReports(db.notices);
  }

  /** Answers the agents that wait: they ask again, elsewhere. */
  endWaits(): void {
    this.desired.close();
  }

  /** Writes what was heard. */
  close(): Promise<void> {
    return this.heartbeats.flush();
  }
}
