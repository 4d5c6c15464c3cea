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
 * The operator's settings, in the units used by the rules. They are filled in from the rows marked for the domain in
 * the table in src/config.ts.
 */
export interface Settings {
  /** Public URL of the service, without a trailing slash. */
  publicUrl: string;
  /** SSH address of instances and the SSH server's public host key. Null if SSH is disabled. */
  ssh: { host: string; port: number; hostKey: string } | null;
}

/** Dependencies of every use case. The composition root creates this object once and freezes it. */
export type Deps = Readonly<{
  db: Database;
  /** Public data, cached in memory. */
  inventory: Inventory;
  /** Offer lists shared between streams. */
  sharedOffers: SharedResults<readonly Offer[]>;
  /** The price sheet, shared between streams. */
  sharedSheet: SharedResults<PriceSheet>;
  /** Caches API keys with their owners. */
  apiKeyCache: ApiKeyCache;
  /** Reads accounts and their live instances. Concurrent loads share one statement. */
  accountLoader: AccountLoader;
  /** Reads machines for previews, which take no locks. */
  machineLoader: MachineLoader;
  /** Reads pages of usage intervals, in batches across instances. */
  usageIntervalLoader: UsageIntervalLoader;
  /** Reads the volumes attached to instances, in batches. */
  attachmentLoader: AttachmentLoader;
  /** Reads the current load of instances, in batches. */
  loadLoader: LoadLoader;
  /** Notifies streams when an instance's load changes. */
  loadWatch: LoadWatch;
  /** Reads instances' past measurements, in batches. */
  metricLoader: MetricLoader;
  /** Buffers measurements from host agents until they are written to the database. */
  samples: SampleBuffer;
  /** All open change streams. */
  subscriptions: SubscriptionRegistry;
  /** State of the host agents connected to this process. */
  fleet: Fleet;
  /** Controls visitors' access to instances' web ports. */
  visits: Visits;
  /** Null in a process that host agents don't connect to. */
  openLogs: OpenLogs | null;
  /**
   * Returns the keys that seal secrets. New secrets are sealed with the first key. The others only unseal existing
   * secrets. Rejects if there are no keys.
   */
  sealingKeys: () => Promise<readonly SealingKey[]>;
  /** Null if top-ups are disabled. */
  payments: PaymentProcessor | null;
  /** Storage for volume repositories. */
  volumeStore: VolumeStore;
  /** Limits concurrent writes to the volume store that hold a transaction open. */
  volumeWrites: Slots;
  /** Limits concurrent repository key derivations, which are slow. */
  volumeKeys: Slots;
  /** Null if restic isn't installed. Volumes are then neither pruned nor checked. */
  restic: RunRestic | null;
  /** Receives events from use cases. */
  events: DomainEvents;
  /** Sends an event to a webhook. */
  sendWebhook: SendWebhook;
  /** Null if mail is disabled. */
  sendMail: SendMail | null;
  /** Records changes that were rejected or that were made without a transaction. */
  activityLog: ActivityLog;
  /** The activity entry of the requested change. Null if the change wasn't requested by an account. */
  activity: ActivityNote | null;
  clock: Clock;
  settings: Readonly<Settings>;
}>;

/** Maximum number of concurrent volume writes. Each one occupies one of the process's 20 database connections. */
const MAX_VOLUME_WRITES = 6;
const MAX_WAITING_VOLUME_WRITES = 2_000;
const MAX_WAITING_KEY_CHECKS = 20;
/** Maximum number of concurrent key checks per account. Checking one key can take several seconds. */
const MAX_KEY_CHECKS_OF_ACCOUNT = 3;

/** Dependencies that only the gateway needs. Operator commands run without them. */
export interface GatewayDeps
  extends Partial<
    Pick<
      Deps,
      'payments' | 'openLogs' | 'events' | 'sealingKeys' | 'volumeStore' | 'restic' | 'sendWebhook' | 'sendMail'
    >
  > {
  /** Called with errors from background work. */
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
