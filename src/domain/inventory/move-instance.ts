import { required } from '../../std/required.js';
import type { SettlingDeps } from '../billing/deps.js';
import { idempotentRequest } from '../billing/idempotency.js';
import type { Write } from '../billing/ledger.js';
import { instanceFields } from '../instances/fields.js';
import { fromRow } from '../instances/instance-row.js';
import { countOutcome, notFound, type Outcome, type RentalTerms } from '../instances/instances.js';
import { launchOf } from '../instances/launch.js';
import { templateInUse } from '../instances/template-terms.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import { type Launch, needsAgent } from '../kernel/launch.js';
import { type Account, INSTANCE_ID, type Instance, stop } from '../kernel/lifecycle.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../kernel/time.js';
import { SAVED_WITHIN_DAYS, silentBefore } from '../kernel/volume-lease.js';
import { attachedTo, sizeOfVolumes } from '../volumes/attachments.js';
import { lockVolumes } from '../volumes/leases.js';
import type { VolumeAtPath } from '../volumes/rules/volume-attachment.js';
import { checkPreferences, rentBest, type Search } from './deploy-best.js';
import type { InventoryDeps } from './deps.js';
import { bestOffer } from './rules/best-offer.js';

interface MoveInput {
  id: string;
  idempotencyKey?: string | null | undefined;
  /** Maximum price of the whole machine, in USD per hour. The move is rejected if the price is higher. */
  maxPricePerHour?: number | null | undefined;
}

/** The instance to move. Everything that can change is read again under a lock. */
interface Moved {
  instance: Instance;
  launch: Launch | null;
  volumes: readonly VolumeAtPath[];
  hasAgent: boolean;
}

/**
 * Relaunches an instance's workload, with its volumes, on the best machine of another host, at the current price. The
 * instance must be stopped or have been destroyed within the last week, or its host must have been unreachable for so
 * long that its leases have ended. In the last case, the instance is stopped. Throws invalid_request, not_found,
 * action_failed if the instance can't be moved or is still being saved, and any error thrown by deployBest.
 */
export function moveInstance(
  deps: SettlingDeps & Pick<InventoryDeps, 'sealingKeys' | 'inventory' | 'fleet'>,
  accountId: string,
  input: MoveInput,
  keyId: string | null = null,
): Promise<Outcome> {
  return countOutcome(deps, () => move(deps, accountId, input, keyId));
}

async function move(
  deps: SettlingDeps & Pick<InventoryDeps, 'sealingKeys' | 'inventory' | 'fleet'>,
  accountId: string,
  input: MoveInput,
  keyId: string | null,
): Promise<Outcome> {
  const { id, maxPricePerHour } = input;
  const key = checkOptional('idempotencyKey', commonFields.idempotencyKey, input.idempotencyKey);
  checkOptional('maxPricePerHour', instanceFields.maxPricePerHour, maxPricePerHour);
  const moved = await movedOf(deps, accountId, id);
  const { instance, launch, volumes } = moved;
  const preferences = preferencesOf(moved, maxPricePerHour);
  const { maxRate } = preferences;
  const request = idempotentRequest(accountId, key, 'move', [id, maxRate]);
  const mode = instance.mode === 'RESERVED' ? 'ON_DEMAND' : instance.mode;
  const { template, diskGb, hostId } = instance;
  const volumeGb = await sizeOfVolumes(deps, accountId, volumes);
  const best: Search = {
    ...bestOffer({ ...preferences, diskGb, volumeGb, mode }),
    needsAgent: needsAgent(launch ?? {}),
    needsUsers: launch?.user !== undefined,
    needsLoad: instance.stopWhenIdle !== null,
    needsVolumes: true,
    excludedHost: hostId,
  };
  const inUse = await templateInUse(deps, template, launch ?? undefined);
  const fixed = { template, diskGb, mode, launch: launch ?? undefined, volumes, keyId, maxRate, inUse };
  return rentBest(deps, { accountIds: [accountId], instanceId: id }, request, {
    best,
    prepare: async (current, account) => {
      const old = required(current.instance(id), 'instance to move');
      await checkMoves(deps, current, account, old, volumes);
      return { ...fixed, ...endsOf(old, current.at), ...(old.status === 'RUNNING' && stopped(current, account, old)) };
    },
    refusal: () => {
      const what = `${instance.numGpus} x ${instance.gpu}, ${diskGb} GB of disk and ${volumeGb} GB of volumes`;
      const within = maxPricePerHour == null ? '' : `, for at most ${maxPricePerHour} USD per hour`;
      const message = `no other host that supports volumes has ${what} free now, ${mode.toLowerCase()}${within}`;
      return new DomainError('deploy_failed', message, { reason: 'nothing_fits' });
    },
  });
}

async function movedOf(deps: Pick<KernelDeps, 'db'>, accountId: string, id: string): Promise<Moved> {
  const row = INSTANCE_ID.test(id)
    ? await deps.db.prisma.instance.findFirst({ where: { id, accountId }, include: { launch: true, container: true } })
    : null;
  if (row === null) throw notFound();
  const { launch, container, ...columns } = row;
  const instance = fromRow(columns);
  const volumes = await attachedTo(deps.db.pool, instance);
  if (volumes.length === 0)
    throw new DomainError('action_failed', `instance ${id} has no volumes, so it has no data to move`);
  return { instance, launch: launchOf(launch), volumes, hasAgent: container !== null };
}

function preferencesOf({ instance, hasAgent }: Moved, maxPricePerHour: MoveInput['maxPricePerHour']) {
  const { gpu, numGpus } = instance;
  const filter = { numMin: numGpus, numMax: numGpus, ...(hasAgent && { hasAgent }) };
  return checkPreferences({ filter, gpus: [gpu], ...(maxPricePerHour !== undefined && { maxPricePerHour }) });
}

/** Throws action_failed if the instance is running, was destroyed too long ago, or hasn't been saved yet. */
async function checkMoves(
  deps: Pick<InventoryDeps, 'fleet'>,
  current: Write,
  account: Account,
  { id, status, hostId, destroyedAt }: Instance,
  volumes: readonly VolumeAtPath[],
): Promise<void> {
  if (status === 'RUNNING' && !(await isSilent(deps, current, hostId)))
    throw new DomainError('action_failed', `instance ${id} is running; stop it first`);
  if (destroyedAt !== null && destroyedAt < current.at - BigInt(SAVED_WITHIN_DAYS) * SECONDS_PER_DAY)
    throw new DomainError('action_failed', `instance ${id} was destroyed more than ${SAVED_WITHIN_DAYS} days ago`);
  await lockVolumes(current, deps, { accountId: account.id, volumes, stopping: id }, 'action_failed');
}

/**
 * Whether the host has been unreachable long enough for its leases to end. Always false for a host without an agent,
 * because nothing is known about it.
 */
async function isSilent(
  deps: Pick<InventoryDeps, 'fleet'>,
  { transaction, at }: Write,
  hostId: string,
): Promise<boolean> {
  const { rows } = await transaction.query<{ silent: boolean }>(
    `select revoked_at is not null or seen_at is null or seen_at < $2 as silent
     from machine_host join machine_heartbeat using (machine_id) where machine_id = $1`,
    [hostId, formatInstant(silentBefore(at, deps.fleet.since))],
  );
  return rows[0]?.silent ?? false;
}

/**
 * Stops an instance on an unreachable host, so that it is no longer billed. The stop is written along with the rental,
 * and only if the rental succeeds.
 */
function stopped(current: Write, account: Account, instance: Instance): Pick<RentalTerms, 'stopping'> {
  stop(current.step(account), instance, 'USER');
  return { stopping: instance.id };
}

/**
 * Returns the limits, labels and deadlines for the new instance. They are the same as the old instance's, except that past
 * deadlines are omitted.
 */
function endsOf({ spendLimit, stopWhenIdle, labels, ...instance }: Instance, now: Instant) {
  const coming = (at: Instant | null) => (at !== null && at > now ? formatInstant(at) : null);
  return {
    ...(spendLimit !== null && { spendLimit }),
    ...(stopWhenIdle !== null && { stopWhenIdle }),
    ...(labels !== null && { labels }),
    deadlines: { stopAt: coming(instance.stopAt), destroyAt: coming(instance.destroyAt) },
  };
}
