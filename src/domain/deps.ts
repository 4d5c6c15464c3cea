import type { Database } from '../database/database.js';
import { AccountLoader } from './accounts/account-loader.js';
import { ApiKeyCache } from './accounts/api-key-cache.js';
import { ActivityLog } from './activity/activity-log.js';
import type { ActivityNote } from './activity-note.js';
import { type DomainEvents, NO_EVENTS } from './events.js';
import { Fleet } from './fleet/fleet.js';
import { Slots } from './fleet/slots.js';
import { MachineLoader } from './instances/machine-loader.js';
import { UsageIntervalLoader } from './instances/usage-interval-loader.js';
import { Inventory } from './inventory/inventory.js';
import { SharedResults } from './inventory/shared-results.js';
import type { OpenLogs } from './log-source.js';
import type { PriceSheet } from './market/price-sheet.js';
import type { Offer } from './rules/offer.js';
import type { SealingKey } from './rules/sealing.js';
import type { Clock } from './rules/time.js';
import { LoadWatch } from './samples/load-watch.js';
import { LoadLoader, MetricLoader } from './samples/metric-points.js';
import { SampleBuffer } from './samples/sample-buffer.js';
import type { PaymentProcessor } from './top-ups/processor.js';
import { SubscriptionRegistry } from './updates/subscriptions.js';
import { AttachmentLoader } from './volumes/attachment-loader.js';
import { silentText } from './volumes/ended-leases.js';
import type { RunRestic } from './volumes/restic.js';
import { NO_STORE, type VolumeStore } from './volumes/store.js';
import { Visits } from './web-ports/visits.js';
import type { SendMail, SendWebhook } from './webhooks/receiver.js';

/**
 * The operator's settings, in the units of the rules. The table in src/config.ts adds each of its rows that is marked
 * for the domain.
 */
export interface Settings {
  /** Address of the service, without a trailing slash. */
  publicUrl: string;
  /** Address of SSH into instances, and the host's public key; null without SSH. */
  ssh: { host: string; port: number; hostKey: string } | null;
}

/** Dependencies of every use case. The composition root creates them once, frozen. */
export type Deps = Readonly<{
  db: Database;
  /** The public data, cached in memory. */
  inventory: Inventory;
  /** Lists of offers that several streams follow. */
  sharedOffers: SharedResults<readonly Offer[]>;
  /** The price sheet that streams follow. */
  sharedSheet: SharedResults<PriceSheet>;
  /** Owners of API keys, cached. */
  apiKeyCache: ApiKeyCache;
  /** Reads accounts and their live instances; concurrent loads share one statement. */
  accountLoader: AccountLoader;
  /** Reads machines for previews, which decide without a lock. */
  machineLoader: MachineLoader;
  /** Reads pages of usage intervals, batched over instances. */
  usageIntervalLoader: UsageIntervalLoader;
  /** Reads the volumes of instances, batched. */
  attachmentLoader: AttachmentLoader;
  /** Reads instances' current loads, batched. */
  loadLoader: LoadLoader;
  /** Notifies streams of instances' loads. */
  loadWatch: LoadWatch;
  /** Reads instances' past measurements, batched. */
  metricLoader: MetricLoader;
  /** Buffers host agents' measurements for the database. */
  samples: SampleBuffer;
  /** The open change streams. */
  subscriptions: SubscriptionRegistry;
  /** State of the host agents connected to this process. */
  fleet: Fleet;
  /** Access of visitors to the web ports of instances. */
  visits: Visits;
  /** Null in a process without host agents. */
  openLogs: OpenLogs | null;
  /**
   * Returns the keys that seal secrets: the first seals new ones, the others only open old ones. Rejects if there is
   * none.
   */
  sealingKeys: () => Promise<readonly SealingKey[]>;
  /** Null without top-ups. */
  payments: PaymentProcessor | null;
  /** Store of the volumes' repositories. */
  volumeStore: VolumeStore;
  /** Slots for writes to it within a transaction. */
  volumeWrites: Slots;
  /** Slots for deriving keys of repositories, which is slow. */
  volumeKeys: Slots;
  /** Null if not installed: volumes are then neither pruned nor checked. */
  restic: RunRestic | null;
  /** Receives events of use cases. */
  events: DomainEvents;
  /** Sends an event to a webhook. */
  sendWebhook: SendWebhook;
  /** Null without mail. */
  sendMail: SendMail | null;
  /** Records changes that are refused, or are made without a transaction. */
  activityLog: ActivityLog;
  /** The requested change; null if no account requested it. */
  activity: ActivityNote | null;
  clock: Clock;
  settings: Readonly<Settings>;
}>;

/** Maximum concurrent writes to volumes. Each uses one of the process's 20 database connections. */
const MAX_VOLUME_WRITES = 6;
const MAX_WAITING_VOLUME_WRITES = 2_000;
const MAX_WAITING_KEY_CHECKS = 20;
/** Verifying one key can take several seconds. */
const MAX_KEY_CHECKS_OF_ACCOUNT = 3;

/** Dependencies of a gateway that operator commands don't need. */
export interface GatewayDeps
  extends Partial<
    Pick<
      Deps,
      'payments' | 'openLogs' | 'events' | 'sealingKeys' | 'volumeStore' | 'restic' | 'sendWebhook' | 'sendMail'
    >
  > {
  /** Receives faults of background work. */
  onFault?: (error: unknown) => void;
}

export function createDeps(
  db: Database,
  clock: Clock,
  settings: Settings,
  {
    payments = null,
    openLogs = null,
    events = NO_EVENTS,
    sealingKeys = noSealingKeys,
    volumeStore = NO_STORE,
    restic = null,
    sendWebhook = sendsNothing,
    sendMail = null,
    onFault = () => {},
  }: GatewayDeps = {},
): Deps {
  const { notices } = db;
  const inventory = new Inventory(db);
  const fleet = new Fleet(db, clock, onFault);
  const loadLoader = new LoadLoader(db, clock);
  return Object.freeze({
    db,
    inventory,
    sharedOffers: new SharedResults<readonly Offer[]>(inventory),
    sharedSheet: new SharedResults<PriceSheet>(inventory),
    apiKeyCache: new ApiKeyCache(notices),
    accountLoader: new AccountLoader(db.pool),
    machineLoader: new MachineLoader(db.pool),
    usageIntervalLoader: new UsageIntervalLoader(db.pool),
    attachmentLoader: new AttachmentLoader(db, () => silentText({ fleet }, clock.now())),
    loadLoader,
    loadWatch: new LoadWatch(loadLoader, onFault),
    metricLoader: new MetricLoader(db, clock),
    samples: new SampleBuffer(db, onFault),
    subscriptions: new SubscriptionRegistry(notices),
    fleet,
    visits: new Visits(db, clock),
    openLogs,
    payments,
    events,
    sealingKeys,
    volumeStore,
    volumeKeys: new Slots({
      maxConcurrent: 1,
      maxWaiting: MAX_WAITING_KEY_CHECKS,
      maxOfAccount: MAX_KEY_CHECKS_OF_ACCOUNT,
    }),
    volumeWrites: new Slots({ maxConcurrent: MAX_VOLUME_WRITES, maxWaiting: MAX_WAITING_VOLUME_WRITES }),
    restic,
    sendWebhook,
    sendMail,
    activityLog: new ActivityLog(db.pool),
    activity: null,
    clock,
    settings: Object.freeze({ ...settings }),
  });
}

function noSealingKeys(): never {
  throw new Error('this process has no keys to seal secrets');
}

function sendsNothing(): never {
  throw new Error('this process does not send webhooks');
}
