import type { Logger } from 'pino';
import { startSessionSweep } from '../domain/accounts/sessions.js';
import { startActivity } from '../domain/activity/activity.js';
import { startSweep } from '../domain/billing/sweep.js';
import { startFleetWatch } from '../domain/fleet/watch.js';
import { startRecheck } from '../domain/market/recheck.js';
import { startLog } from '../domain/proof/hourly.js';
import { startSampleUpkeep } from '../domain/samples/upkeep.js';
import type { PaymentEvent } from '../domain/top-ups/book-payments.js';
import { startReconciliation } from '../domain/top-ups/reconcile.js';
import { startVolumeUpkeep } from '../domain/volumes/upkeep.js';
import { startWebhooks } from '../domain/webhooks/deliver.js';
import { logRecheck } from '../logging/log-recheck.js';
import { volumeLog } from '../logging/log-volumes.js';
import type { Deps } from './deps.js';

export interface BackgroundOptions {
  log: Logger;
  /** This gateway's own URL, such as http://127.0.0.1:4000. */
  address: string;
  onPayment(event: PaymentEvent): void;
  onFault(error: unknown): void;
}

/** A gateway's background work. */
export interface BackgroundWork {
  /** Stops sending requests to other services. Resolves once those in flight have finished. */
  stopOutgoing(): Promise<void>;
  /** Stops everything else and stores the reports received from host agents. */
  stop(): Promise<void>;
}

export function startBackgroundWork(deps: Deps, options: BackgroundOptions): BackgroundWork {
  const { log, address, onPayment, onFault } = options;
  const sweep = startSweep(deps, onFault);
  const activity = startActivity(deps, onFault);
  const webhooks = startWebhooks(deps, onFault);
  const sessionSweep = startSessionSweep(deps, onFault);
  const watch = startFleetWatch(deps, onFault);
  const sampleUpkeep = startSampleUpkeep(deps, onFault);
  const onUnsigned = (reason: string) => log.info({ reason }, 'the public log gets no roots');
  const proof = startLog(deps, onUnsigned, onFault);
  const recheck = startRecheck(deps, logRecheck(log), onFault);
  const upkeep = startVolumeUpkeep(deps, { address, ...volumeLog(log, deps) }, onFault);
  const reconciliation = startReconciliation(deps, onPayment, onFault);
  return {
    stopOutgoing: async () => {
      await Promise.all([upkeep.stop(), recheck.stop(), reconciliation.stop(), webhooks.stop(), proof.stop()]);
    },
    stop: async () => {
      const swept = [sweep, sessionSweep, activity, watch, sampleUpkeep].map((each) => each.stop());
      await Promise.all([...swept, deps.fleet.close(), deps.samples.flush()]);
    },
  };
}
