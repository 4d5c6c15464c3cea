import type { Database } from '../database/database.js';
import { ApiKeyCache } from '../domain/accounts/api-key-cache.js';
import { ActivityLog } from '../domain/activity/activity-log.js';
import { AccountLoader } from '../domain/billing/account-loader.js';
import { Fleet } from '../domain/fleet/fleet.js';
import { MachineLoader } from '../domain/instances/machine-loader.js';
import { UsageIntervalLoader } from '../domain/instances/usage-interval-loader.js';
import { Inventory } from '../domain/inventory/inventory.js';
import type { Offer } from '../domain/inventory/rules/offer.js';
import { SharedResults } from '../domain/inventory/shared-results.js';
import type { ActivityNote } from '../domain/kernel/activity-note.js';
import { type DomainEvents, NO_EVENTS } from '../domain/kernel/domain-events.js';
import type { SealingKey } from '../domain/kernel/sealing.js';
import type { Settings } from '../domain/kernel/settings.js';
import { Slots } from '../domain/kernel/slots.js';
import type { Clock } from '../domain/kernel/time.js';
import type { PriceSheet } from '../domain/market/price-sheet.js';
import { LoadWatch } from '../domain/samples/load-watch.js';
import { LoadLoader, MetricLoader } from '../domain/samples/metric-points.js';
import { SampleBuffer } from '../domain/samples/sample-buffer.js';
import type { PaymentProcessor } from '../domain/top-ups/processor.js';
import type { OpenLogs } from '../domain/updates/log-source.js';
import { SubscriptionRegistry } from '../domain/updates/subscriptions.js';
import { AttachmentLoader } from '../domain/volumes/attachment-loader.js';
import { silentText } from '../domain/volumes/ended-leases.js';
import type { RunRestic } from '../domain/volumes/restic.js';
import { NO_STORE, type VolumeStore } from '../domain/volumes/store.js';
import { Visits } from '../domain/web-ports/visits.js';
import type { SendMail, SendWebhook } from '../domain/webhooks/receiver.js';

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
  /** Reads instances' current loads, in batches. */
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
  throw new Error('this process has no keys for sealing secrets');
}

function sendsNothing(): never {
  throw new Error('this process does not send webhooks');
}
