import type { Prisma, Volume as VolumeRow } from '../../database/generated/client/client.js';
import type { Transaction } from '../../database/transaction.js';
import { activeAccount } from '../billing/active-account.js';
import type { LedgerDeps, SettlingDeps } from '../billing/deps.js';
import { idempotentRequest, recall, retryWhileInUse, storeResponse } from '../billing/idempotency.js';
import { type Write, write } from '../billing/ledger.js';
import { settledAccount } from '../billing/settlement.js';
import { checkLimits } from '../kernel/admission.js';
import { checkCover } from '../kernel/cover.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { check, checkOptional } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import type { Account, Volume } from '../kernel/lifecycle.js';
import type { Rate } from '../kernel/money.js';
import { randomId } from '../kernel/random-id.js';
import * as rules from '../kernel/volume.js';
import { MAX_VOLUMES, VOLUME_ID } from '../kernel/volume.js';
import { sealingKeyOf } from '../secrets/secrets.js';
import type { VolumeDeps } from './deps.js';
import { volumeFields } from './fields.js';
import { releaseEndedLeases, releaseEndedLeasesOf } from './leases.js';
import { makePassword, volumePassword } from './password.js';
import { noVolume, volumeInUse } from './refusals.js';

export type { VolumeRow };

const ID_BYTES = 4;

/**
 * The account that makes a request, and the API key whose limit the added cost counts towards. The key is null for the
 * operator.
 */
export interface Owner {
  accountId: string;
  keyId: string | null;
}

interface CreateVolumeInput {
  name: string;
  sizeGb: number;
  /** Initial contents. The volume is empty if this is omitted. */
  fromSnapshot?: SnapshotInput | null | undefined;
  idempotencyKey?: string | null | undefined;
}

/** A snapshot of one of the account's volumes. */
interface SnapshotInput {
  volumeId: string;
  snapshotId: string;
}

interface ChangeInput {
  id: string;
  idempotencyKey?: string | null | undefined;
}

/**
 * The volume after the change. `replayed` means that the change was made by an earlier request with the same
 * idempotency key.
 */
export interface VolumeOutcome {
  volume: VolumeRow;
  replayed: boolean;
}

type Query = Pick<Prisma.VolumeFindManyArgs, 'include' | 'select'>;

/** Returns up to 100 of the account's volumes, oldest first, excluding deleted ones. */
export async function listVolumes(
  deps: SettlingDeps & Pick<VolumeDeps, 'fleet'>,
  accountId: string,
  query: Query = {},
): Promise<VolumeRow[]> {
  await settledAccount(deps, accountId);
  await releaseEndedLeasesOf(deps, accountId);
  return deps.db.prisma.volume.findMany({
    ...query,
    where: { accountId, deletedAt: null },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take: MAX_VOLUMES,
  });
}

/**
 * Returns one of the account's volumes, even if it is deleted, or null if there is no such volume. Another account's
 * volume looks as if it didn't exist.
 */
export async function findVolume(
  deps: SettlingDeps & Pick<VolumeDeps, 'fleet'>,
  accountId: string,
  id: string,
  query: Query = {},
): Promise<VolumeRow | null> {
  // Built even if it isn't needed, because Pothos warns about queries that are never read.
  const wanted = { ...query, where: { id, accountId } };
  if (!VOLUME_ID.test(id)) return null;
  await settledAccount(deps, accountId);
  await releaseEndedLeasesOf(deps, accountId);
  return deps.db.prisma.volume.findFirst(wanted);
}

/**
 * Creates a volume. Throws invalid_request, or action_failed if the account already has 100 volumes or the balance or a
 * limit doesn't suffice.
 */
export async function createVolume(
  deps: LedgerDeps & Pick<KernelDeps, 'sealingKeys'>,
  owner: Owner,
  input: CreateVolumeInput,
): Promise<VolumeOutcome> {
  const name = check('name', volumeFields.volumeName, input.name);
  const sizeGb = check('sizeGb', volumeFields.volumeGb, input.sizeGb);
  checkOptional('idempotencyKey', commonFields.idempotencyKey, input.idempotencyKey);
  const from = input.fromSnapshot ?? null;
  if (from !== null) check('snapshotId', volumeFields.snapshotId, from.snapshotId);
  const sealingKey = await sealingKeyOf(deps);
  const source = from === null ? null : await sourceOf(deps, owner.accountId, from, sizeGb);
  const fingerprinted = [name, sizeGb, ...(from === null ? [] : [from.volumeId, from.snapshotId])];
  return changeOnce(deps, owner, 'createVolume', fingerprinted, input.idempotencyKey, (current, account) => {
    const id = randomId('v', ID_BYTES);
    const gbRate = deps.settings.volumeRatePerGb;
    rules.checkVolumeLimit(account);
    const addedRate = rules.volumeRate({ gbRate, sizeGb });
    admit(deps, current, account, { keyId: owner.keyId, addedRate, addedToKey: addedRate });
    const sealed = makePassword(sealingKey, { id, accountId: account.id }, source?.password);
    const copied = { copyOf: from?.volumeId ?? null, headSnapshotId: from?.snapshotId ?? null };
    const terms = { id, name, sizeGb, gbRate, keyId: owner.keyId, ...sealed, ...copied };
    return rules.createVolume(current.step(account), terms);
  });
}

/**
 * Grows a volume. Has no effect if it already has that size. Throws invalid_request, not_found, or action_failed if the
 * new size is smaller or the balance or a limit doesn't suffice.
 */
export async function growVolume(
  deps: LedgerDeps,
  owner: Owner,
  input: ChangeInput & { sizeGb: number },
): Promise<VolumeOutcome> {
  const sizeGb = check('sizeGb', volumeFields.volumeGb, input.sizeGb);
  const { id, idempotencyKey } = input;
  return changeOnce(deps, owner, 'growVolume', [id, sizeGb], idempotencyKey, async (current, account) => {
    const volume = await volumeOf(current, account, id);
    rules.checkGrowth(volume, sizeGb);
    if (sizeGb === volume.sizeGb) return volume;
    const rate = rules.volumeRate({ ...volume, sizeGb });
    const addedRate = rate - rules.volumeRate(volume);
    // If another key set the current size, the volume's entire cost is transferred to this key.
    const addedToKey = volume.sizeKeyId === owner.keyId ? addedRate : rate;
    admit(deps, current, account, { keyId: owner.keyId, addedRate, addedToKey });
    rules.growVolume(current.step(account), volume, sizeGb, owner.keyId);
    return volume;
  });
}

/** Deletes a volume and all its snapshots. Throws not_found, or action_failed while an instance uses the volume. */
export async function deleteVolume(
  deps: LedgerDeps & Pick<VolumeDeps, 'fleet'>,
  owner: Owner,
  input: ChangeInput,
): Promise<VolumeOutcome> {
  const { id, idempotencyKey } = input;
  return changeOnce(deps, owner, 'deleteVolume', [id], idempotencyKey, async (current, account) => {
    const volume = await volumeOf(current, account, id);
    rules.checkNotDeleted(volume);
    await checkFree(deps, current, volume);
    rules.deleteVolume(current.step(account), volume, 'USER');
    return volume;
  });
}

/**
 * Returns what a copy needs from its source volume. Throws not_found, or action_failed if the copy would be smaller.
 */
async function sourceOf(
  deps: Pick<KernelDeps, 'db' | 'sealingKeys'>,
  accountId: string,
  { volumeId, snapshotId }: SnapshotInput,
  sizeGb: number,
): Promise<{ password: string }> {
  const password = await volumePassword(deps, accountId, volumeId);
  const source = await deps.db.prisma.volume.findUniqueOrThrow({
    where: { id: volumeId },
    include: { snapshots: { where: { id: snapshotId, droppedAt: null } } },
  });
  if (source.snapshots.length === 0) throw new DomainError('not_found', `volume ${volumeId} has no such snapshot`);
  if (sizeGb >= source.sizeGb) return { password };
  throw new DomainError('action_failed', `sizeGb must be at least ${source.sizeGb}, the size of volume ${volumeId}`);
}

/** Throws action_failed if the balance or a limit doesn't cover the added cost. */
function admit(
  { settings }: Pick<KernelDeps, 'settings'>,
  { at }: Write,
  account: Account,
  added: { keyId: string | null; addedRate: Rate; addedToKey: Rate },
): void {
  const { coverSeconds } = settings;
  checkCover(account, at, { addedRate: added.addedRate, preempted: [], coverSeconds }, 'action_failed');
  checkLimits(account, at, { ...added, gpuRate: 0n, preempted: [] }, 'action_failed');
}

async function volumeOf(current: Write, account: Account, id: string): Promise<Volume> {
  const volume = VOLUME_ID.test(id) ? await current.volumeOf(account, id) : undefined;
  if (volume === undefined) throw noVolume();
  return volume;
}

async function checkFree(deps: Pick<VolumeDeps, 'clock' | 'fleet'>, current: Write, { id }: Volume): Promise<void> {
  await releaseEndedLeases(deps, current.transaction, [id]);
  const { rows } = await current.transaction.query<{ holder: string | null }>(
    'select lease_instance_id as holder from volume where id = $1',
    [id],
  );
  const holder = rows[0]?.holder ?? null;
  if (holder !== null) throw volumeInUse(id, holder);
}

/** Changes one volume, once per idempotency key. Returns the volume after the change. */
async function changeOnce(
  deps: LedgerDeps,
  { accountId }: Owner,
  operation: string,
  input: readonly unknown[],
  idempotencyKey: string | null | undefined,
  decide: (current: Write, account: Account) => Promise<Volume> | Volume,
): Promise<VolumeOutcome> {
  const key = checkOptional('idempotencyKey', commonFields.idempotencyKey, idempotencyKey);
  const request = idempotentRequest(accountId, key, operation, input);
  const change = async (current: Write) => {
    const { id } = await decide(current, activeAccount(current, accountId));
    if (request !== null) storeResponse(current.transaction, request, { id }, current.at);
    return { id, replayed: false };
  };
  const repeat = async (transaction: Transaction) => {
    const kept = request && ((await recall(transaction, request, deps.clock.now())) as { id: string } | undefined);
    return kept ? { id: kept.id, replayed: true } : undefined;
  };
  const { id, replayed } = await retryWhileInUse(() => write(deps, { accountIds: [accountId] }, change, repeat));
  return { volume: await deps.db.prisma.volume.findUniqueOrThrow({ where: { id } }), replayed };
}
