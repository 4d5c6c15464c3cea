import type { Database } from '../database/database.js';
import { ApiKeyCache } from '../domain/accounts/api-key-cache.js';
import { ActivityLog } from '../domain/activity/activity-log.js';
import type { ActivityDeps } from '../domain/activity/deps.js';
import { AccountLoader } from '../domain/billing/account-loader.js';
import type { FleetDeps } from '../domain/fleet/deps.js';
import { Fleet } from '../domain/fleet/fleet.js';
import { MachineLoader } from '../domain/instances/machine-loader.js';
import { UsageIntervalLoader } from '../domain/instances/usage-interval-loader.js';
import type { InventoryDeps } from '../domain/inventory/deps.js';
import { Inventory } from '../domain/inventory/inventory.js';
import type { Offer } from '../domain/inventory/rules/offer.js';
import { SharedResults } from '../domain/inventory/shared-results.js';
import { NO_EVENTS } from '../domain/kernel/domain-events.js';
import type { Settings } from '../domain/kernel/settings.js';
import { Slots } from '../domain/kernel/slots.js';
import type { Clock } from '../domain/kernel/time.js';
import type { PriceSheet } from '../domain/market/price-sheet.js';
import type { ModelDeps } from '../domain/models/deps.js';
import type { ProofDeps } from '../domain/proof/deps.js';
import type { SampleDeps } from '../domain/samples/deps.js';
import { LoadWatch } from '../domain/samples/load-watch.js';
import { LoadLoader, MetricLoader } from '../domain/samples/metric-points.js';
import { SampleBuffer } from '../domain/samples/sample-buffer.js';
import type { TopUpDeps } from '../domain/top-ups/deps.js';
import type { UpdateDeps } from '../domain/updates/deps.js';
import { SubscriptionRegistry } from '../domain/updates/subscriptions.js';
import { AttachmentLoader } from '../domain/volumes/attachment-loader.js';
import type { VolumeDeps } from '../domain/volumes/deps.js';
import { silentText } from '../domain/volumes/ended-leases.js';
import { NO_STORE } from '../domain/volumes/store.js';
import type { WebPortDeps } from '../domain/web-ports/deps.js';
import { Visits } from '../domain/web-ports/visits.js';
import type { WebhookDeps } from '../domain/webhooks/deps.js';
import { createTokenBuckets } from '../http/token-buckets.js';

/** Dependencies of every use case. The composition root creates this object once and freezes it. */
export type Deps = Readonly<
  ActivityDeps &
    FleetDeps &
    InventoryDeps &
    ModelDeps &
    ProofDeps &
    SampleDeps &
    TopUpDeps &
    UpdateDeps &
    VolumeDeps &
    WebhookDeps &
    WebPortDeps
>;

/** Maximum number of concurrent volume writes. Each one occupies one of the process's 20 database connections. */
const MAX_VOLUME_WRITES = 6;
const MAX_WAITING_VOLUME_WRITES = 2_000;
const MAX_WAITING_KEY_CHECKS = 20;
/** Maximum number of concurrent key checks per account. Checking one key can take several seconds. */
const MAX_KEY_CHECKS_OF_ACCOUNT = 3;

/** Results of `modelMemory` for an account or, without a key, an address. */
const MODEL_MEMORY = {
  size: 60,
  everySeconds: 1,
  refusal: (seconds: number) => `too many models in a short time; try again in ${seconds} s`,
};

/** Dependencies that only the gateway needs. Operator commands run without them. */
export interface GatewayDeps
  extends Partial<
    Pick<
      Deps,
      | 'payments'
      | 'openLogs'
      | 'events'
      | 'sealingKeys'
      | 'volumeStore'
      | 'restic'
      | 'sendWebhook'
      | 'sendMail'
      | 'modelHub'
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
    modelHub = null,
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
    modelHub,
    takeModelMemory: createTokenBuckets(MODEL_MEMORY).take,
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
