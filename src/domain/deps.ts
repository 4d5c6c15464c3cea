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
import { SharedAnswers } from './inventory/shared-answers.js';
import type { OpenLogs } from './log-source.js';
import type { PriceSheet } from './market/price-sheet.js';
import type { Offer } from './rules/offer.js';
import type { SealingKey } from './rules/sealing.js';
import type { Clock } from './rules/time.js';
import { LoadWatch } from './samples/load-watch.js';
import { LoadLoader, MetricLoader } from './samples/metric-points.js';
import { NotedSamples } from './samples/noted-samples.js';
import type { PaymentProcessor } from './top-ups/processor.js';
import { SubscriptionRegistry } from './updates/subscriptions.js';
import { AttachmentLoader } from './volumes/attachment-loader.js';
import { silentText } from './volumes/over.js';
import type { RunRestic } from './volumes/restic.js';
import { NO_STORE, type VolumeStore } from './volumes/store.js';
import { Visits } from './web-ports/visits.js';
import type { SendMail, SendWebhook } from './webhooks/receiver.js';

/**
 * What the operator decides, in the units of the rules. The table in src/config.ts adds to it each of its rows that is
 * marked as the domain's.
 */
export interface Settings {
  /** Where the service is reached, without a slash at the end. */
  publicUrl: string;
  /** Where SSH into instances leads, and the host's public key; null where there is none. */
  ssh: { host: string; port: number; hostKey: string } | null;
}

/** What every use case needs. The composition root makes it once, frozen. */
export type Deps = Readonly<{
  db: Database;
  /** The public data, cached in memory. */
  inventory: Inventory;
  /** Lists of offers that several streams follow. */
  sharedOffers: SharedAnswers<readonly Offer[]>;
  /** The price sheet, as streams follow it. */
  sharedSheet: SharedAnswers<PriceSheet>;
  /** Owners of API keys, cached. */
  apiKeyCache: ApiKeyCache;
  /** Reads accounts and their live instances; concurrent loads share one statement. */
  accountLoader: AccountLoader;
  /** Reads machines for previews, which decide without a lock. */
  machineLoader: MachineLoader;
  /** Reads pages of usage intervals, those of several instances together. */
  usageIntervalLoader: UsageIntervalLoader;
  /** Reads the volumes of instances, those of several together. */
  attachmentLoader: AttachmentLoader;
  /** Reads what instances do now, those of several together. */
  loadLoader: LoadLoader;
  /** Tells streams what instances do. */
  loadWatch: LoadWatch;
  /** Reads what instances did, those of several together. */
  metricLoader: MetricLoader;
  /** What host agents measured, on its way into the database. */
  samples: NotedSamples;
  /** The open change streams. */
  subscriptions: SubscriptionRegistry;
  /** State of the host agents that talk to this process. */
  fleet: Fleet;
  /** Who may visit the web ports of instances. */
  visits: Visits;
  /** Null in a process that host agents don't talk to. */
  openLogs: OpenLogs | null;
  /** Seals and opens secrets: the first key seals new ones, the others open what they sealed. Rejects where there is none. */
  sealingKeys: () => Promise<readonly SealingKey[]>;
  /** Null where there are no top-ups. */
  payments: PaymentProcessor | null;
  /** Where the repositories of volumes lie. */
  volumeStore: VolumeStore;
  /** For writes to it within a transaction. */
  volumeWrites: Slots;
  /** For keys of repositories, which take long to derive. */
  volumeKeys: Slots;
  /** Null where there is none: then nothing of volumes is pruned or checked. */
  restic: RunRestic | null;
  /** Receives what happens in use cases. */
  events: DomainEvents;
  /** Sends an event to a webhook. */
  sendWebhook: SendWebhook;
  /** Null where there is no mail. */
  sendMail: SendMail | null;
  /** What changes are noted in that are refused, or have no transaction of their own. */
  activityLog: ActivityLog;
  /** The change that an account asks for; null for whatever nobody asked for. */
  activity: ActivityNote | null;
  clock: Clock;
  settings: Readonly<Settings>;
}>;

/** Each has a connection to the database, of the 20 that a process has. */
const VOLUMES_WRITTEN_AT_ONCE = 6;
const MAX_VOLUMES_UNWRITTEN = 2_000;
const MAX_KEYS_UNVERIFIED = 20;

/** What only a gateway has: operator commands do without. */
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
    sharedOffers: new SharedAnswers<readonly Offer[]>(inventory),
    sharedSheet: new SharedAnswers<PriceSheet>(inventory),
    apiKeyCache: new ApiKeyCache(notices),
    accountLoader: new AccountLoader(db.pool),
    machineLoader: new MachineLoader(db.pool),
    usageIntervalLoader: new UsageIntervalLoader(db.pool),
    attachmentLoader: new AttachmentLoader(db, () => silentText({ fleet }, clock.now())),
    loadLoader,
    loadWatch: new LoadWatch(loadLoader, onFault),
    metricLoader: new MetricLoader(db, clock),
    samples: new NotedSamples(db, onFault),
    subscriptions: new SubscriptionRegistry(notices),
    fleet,
    visits: new Visits(db, clock),
    openLogs,
    payments,
    events,
    sealingKeys,
    volumeStore,
    volumeKeys: new Slots({ atOnce: 1, maxWaiting: MAX_KEYS_UNVERIFIED }),
    volumeWrites: new Slots({ atOnce: VOLUMES_WRITTEN_AT_ONCE, maxWaiting: MAX_VOLUMES_UNWRITTEN }),
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
  throw new Error('nothing seals secrets in this process');
}

function sendsNothing(): never {
  throw new Error('nothing sends webhooks in this process');
}
