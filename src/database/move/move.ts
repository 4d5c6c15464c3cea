import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, DatabaseError } from 'pg';
import { countOtherUsers, openEmbeddedPostgres } from '../embedded/embedded-postgres.js';
import { type MoveMarker, readMoveMarker, removeMoveMarker, writeMoveMarker } from '../embedded/move-marker.js';
import { isUnavailable } from '../faults.js';
import { applyMigrations, migrationNamesIn, withMigrationLock } from '../migrate.js';
import { foreignKeysOf, indexesOf, migrationsOf, missingFrom, type Table, tablesOf } from './catalog.js';
import { haveSameRows, refuseDifferentRows, refuseDifferentSchema } from './compare.js';
import { copyTable, type TableReport } from './copy-table.js';
import { MoveFailed, MoveRefused } from './refused.js';
import {
  beginAtTarget,
  copySequences,
  finishAtTarget,
  isUnfinishedMove,
  refuseSameServer,
  refuseUnsuitable,
  unfinishedMove,
} from './target.js';

export { MoveFailed, MoveRefused } from './refused.js';

const APPLICATION = 'database move';
/** Advisory lock that a move holds on both servers. */
const MOVE_LOCK = 1_735_421_304;
/** Time that a killed move's sessions may take to end. */
const LOCK_WAIT_MS = 10_000;
const LOCK_POLL_MS = 200;
/** Number of tables copied concurrently. */
const WORKERS = 4;
const SETTINGS = `SET statement_timeout = 0; SET lock_timeout = '30s'; SET idle_in_transaction_session_timeout = 0;
  SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET IntervalStyle = 'postgres'; SET bytea_output = 'hex';
  SET extra_float_digits = 1; SET client_encoding = 'UTF8'; SET maintenance_work_mem = '256MB';
  SET client_connection_check_interval = '2s'`;

export interface MoveOptions {
  dataDir: string;
  /** URL of the target. */
  to: string;
  /** Folder with the migrations. */
  migrations: string;
  /** Throws if the data of the database at this URL is inconsistent. */
  audit(url: string): Promise<void>;
  /** Receives one-line messages for the operator. */
  onNote(message: string): void;
}

export interface MoveReport {
  /** `planned` after a dry run, and `copied` if other processes still use the source, so that the move isn't finished. */
  state: 'planned' | 'copied' | 'moved';
  /** The target's address without user and password. */
  target: string;
  /** Number of other processes that use the source. */
  users: number;
  tables: TableReport[];
  sequences: number;
  seconds: number;
  /** Time in which no gateway could use either database. Null before the switch. */
  downtimeSeconds: number | null;
}

/** Copies the built-in database to another server. Switches to it if no other process uses the built-in one. */
export function moveDatabase(options: MoveOptions): Promise<MoveReport> {
  return withMove(options, (move) => move.run());
}

/** Checks whether the move is possible, and changes nothing. */
export function planMove(options: MoveOptions): Promise<MoveReport> {
  return withMove(options, (move) => move.plan());
}

export interface UndoOptions {
  dataDir: string;
  /** URL of the database to which the built-in one was moved. Null if it can't be checked. */
  from: string | null;
  /** Whether changes made there since the switch may be lost. */
  mayLoseChanges: boolean;
}

/**
 * Allows gateways to use the built-in database again, and makes them refuse the one to which it was moved. Returns the
 * former marker, or null if there was none. Refuses if changes would be lost, unless `mayLoseChanges`.
 */
export async function undoMove({ dataDir, from, mayLoseChanges }: UndoOptions): Promise<MoveMarker | null> {
  const embedded = await openEmbeddedPostgres({ dataDir, isMove: true });
  const sessions = new Sessions();
  try {
    const source = await sessions.open(embedded.url);
    await lock(source, 'another move of this database is running');
    const marker = await readMoveMarker(dataDir);
    if (marker?.state === 'moved') {
      if (from !== null) await retireTarget({ sessions, source, from, marker, mayLoseChanges });
      else if (!mayLoseChanges) throw new MoveRefused(unchecked(marker.target));
    }
    if (marker !== null) await removeMoveMarker(dataDir);
    return marker;
  } finally {
    await sessions.close();
    await embedded.release();
  }
}

function unchecked(target: string): string {
  return `changes in ${target} since the move would be lost; add --to URL to check whether there are any, or --lose-changes`;
}

interface Retirement {
  sessions: Sessions;
  source: Client;
  from: string;
  marker: MoveMarker;
  mayLoseChanges: boolean;
}

/** Makes gateways refuse the target. Refuses if they have changed it, unless `mayLoseChanges`. */
async function retireTarget({ sessions, source, from, marker, mayLoseChanges }: Retirement): Promise<void> {
  const target = await openTarget(sessions, from);
  const address = addressOf(target);
  if (address !== marker.target)
    throw new MoveRefused(`the database was moved to ${marker.target}, and --to is ${address}`);
  await lock(target, 'another move to this target is running');
  if (await isUnfinishedMove(target)) return;
  if ((await sessionsIn(target)) > 0) throw new MoveRefused(`stop all processes that use ${address}`);
  const tables = await tablesOf(source);
  const guard = await sessions.open(from);
  await guard.query(lockAll(tables));
  if (!mayLoseChanges) {
    for (const table of tables) {
      if (await haveSameRows(source, target, table)) continue;
      throw new MoveRefused(`${table.name} was changed in ${address} since the move; --lose-changes gives that up`);
    }
    await refuseDifferentSchema(source, target, true);
  }
  await beginAtTarget(target, marker.id);
}

async function withMove(options: MoveOptions, work: (move: Move) => Promise<MoveReport>): Promise<MoveReport> {
  const embedded = await openEmbeddedPostgres({ dataDir: options.dataDir, isMove: true });
  const sessions = new Sessions();
  try {
    const source = await sessions.open(embedded.url);
    await lock(source, 'another move of this database is running');
    const target = await openTarget(sessions, options.to);
    await refuseUnsuitable(target);
    await refuseSameServer(source, target);
    await lock(target, 'another move to this target is running');
    return await work(new Move(options, { sourceUrl: embedded.url, sessions, source, target }));
  } catch (error) {
    if (error instanceof MoveRefused || !isReported(error)) throw error;
    throw new MoveFailed((error as Error).message, { cause: error });
  } finally {
    await sessions.close();
    await embedded.release();
  }
}

/** Whether PostgreSQL reports what is wrong, and it isn't temporary. */
function isReported(error: unknown): boolean {
  const { cause } = error as Error;
  return !isUnavailable(error) && (error instanceof DatabaseError || cause instanceof DatabaseError);
}

/** Refuses a URL with which the server doesn't let this process in. */
async function openTarget(sessions: Sessions, url: string): Promise<Client> {
  try {
    return await sessions.open(url);
  } catch (error) {
    if (!isReported(error)) throw error;
    throw new MoveRefused(`can't connect to --to: ${(error as Error).message}`, { cause: error });
  }
}

interface Connected {
  sourceUrl: string;
  sessions: Sessions;
  source: Client;
  target: Client;
}

class Move {
  readonly #startedAt = performance.now();
  readonly #address: string;
  /** Whether the source was audited while it was copied. */
  #isAudited = false;

  constructor(
    readonly options: MoveOptions,
    readonly on: Connected,
  ) {
    this.#address = addressOf(on.target);
  }

  async plan(): Promise<MoveReport> {
    const { source } = this.on;
    const marker = await this.#marker();
    if (marker?.state !== 'moved') await this.#refuseUnready(marker);
    const tables: TableReport[] = [];
    for (const { name } of await tablesOf(source)) {
      const { rows } = await source.query<{ rows: string }>(`SELECT count(*) AS rows FROM public.${name}`);
      tables.push({ table: name, rows: Number(rows[0]!.rows), copied: 0 });
    }
    return this.#report('planned', { tables });
  }

  async run(): Promise<MoveReport> {
    const { options, on } = this;
    const marker = await this.#marker();
    if (marker?.state === 'moved' && !(await isUnfinishedMove(on.target))) return this.#report('moved', {});
    // If it was killed between marking and finishing, the target may have lost rows since, so it is checked again.
    await this.#refuseUnready(marker);
    const id = marker?.id ?? randomUUID();
    this.#isAudited = marker?.isAudited === true;
    if (marker === null || marker.target !== this.#address) await this.#mark(id, 'copying');
    await withMigrationLock(on.target, async () => {
      if ((await unfinishedMove(on.target)) === null) await beginAtTarget(on.target, id);
    });
    await applyMigrations(options.to, options.migrations, { isMove: true });
    for (const { drop } of await foreignKeysOf(on.target)) await on.target.query(drop);
    if ((await this.#users()) > 0) {
      this.#isAudited = false;
      await this.#mark(id, 'copying');
      options.onNote('copying while gateways use the database');
      const tables = await this.#copyTables();
      await refuseDifferentSchema(on.source, on.target, false);
      await this.#audit();
      await this.#mark(id, 'copying');
      if ((await this.#users()) > 0) return this.#report('copied', { tables });
    }
    return this.#switch(id);
  }

  /** Keeps other processes from using the source, copies the rest, and checks the copy. */
  async #switch(id: string): Promise<MoveReport> {
    const { options, on } = this;
    const switchingAt = performance.now();
    // A process that has opened the source before this is among its users, and one that opens it afterwards is refused.
    await this.#mark(id, 'switching');
    let hasMoved = false;
    try {
      if ((await this.#users()) > 0) throw new MoveRefused('another process has begun to use the database; try again');
      options.onNote('copying and checking the rest while no gateway uses the database');
      const guard = await on.sessions.open(on.sourceUrl);
      await guard.query(lockAll(await tablesOf(on.source)));
      const tables = await this.#copyTables();
      const sequences = await copySequences(on.source, on.target);
      // Equal rows make another audit unnecessary. It finds mistakes in the books, which are the source's then.
      const isAudited = this.#isAudited ? undefined : this.#audit();
      await Promise.all([this.#addForeignKeys(), this.#compareTables(), isAudited]);
      await refuseDifferentSchema(on.source, on.target, true);
      await this.#mark(id, 'moved');
      hasMoved = true;
      await finishAtTarget(on.target);
      const downtimeSeconds = (performance.now() - switchingAt) / 1_000;
      return this.#report('moved', { tables, sequences, downtimeSeconds });
    } catch (error) {
      if (!hasMoved) await this.#mark(id, 'copying');
      throw error;
    }
  }

  /** Audits the source on a single snapshot. Gateways may use it in the meantime. */
  async #audit(): Promise<void> {
    const url = new URL(this.on.sourceUrl);
    // These sessions aren't another process's.
    url.searchParams.set('application_name', APPLICATION);
    await this.options.audit(url.href);
    this.#isAudited = true;
  }

  async #copyTables(): Promise<TableReport[]> {
    const indexes = await indexesOf(this.on.source);
    const reports = await this.#eachTable((source, target, table) => copyTable({ source, target }, table, indexes));
    return reports.sort((a, b) => (a.table < b.table ? -1 : 1));
  }

  async #compareTables(): Promise<void> {
    await this.#eachTable(refuseDifferentRows);
  }

  /** Runs `work` for several tables concurrently, the largest first. */
  async #eachTable<T>(work: (source: Client, target: Client, table: Table) => Promise<T>): Promise<T[]> {
    const { sourceUrl, sessions, source } = this.on;
    const waiting: Table[] = await tablesOf(source);
    const done: T[] = [];
    const worker = async () => {
      const mine = [await sessions.open(sourceUrl), await sessions.open(this.options.to)] as const;
      for (let table = waiting.shift(); table !== undefined; table = waiting.shift()) {
        try {
          done.push(await work(...mine, table));
        } catch (error) {
          waiting.length = 0;
          throw error;
        }
      }
      await Promise.all(mine.map((client) => client.end()));
    };
    const results = await Promise.allSettled(Array.from({ length: WORKERS }, worker));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    return done;
  }

  async #addForeignKeys(): Promise<void> {
    const { source, target } = this.on;
    const missing = missingFrom(await foreignKeysOf(target), await foreignKeysOf(source));
    for (const { create } of missing) await target.query(create);
  }

  /** Returns the marker. Refuses a move whose target isn't the marker's although it can't be abandoned any more. */
  async #marker(): Promise<MoveMarker | null> {
    const marker = await readMoveMarker(this.options.dataDir);
    if (marker === null || marker.state === 'copying' || marker.target === this.#address) return marker;
    const state = marker.state === 'moved' ? 'was moved' : 'is being moved';
    throw new MoveRefused(`the database ${state} to ${marker.target}; to move it elsewhere, first use --undo`);
  }

  async #refuseUnready(marker: MoveMarker | null): Promise<void> {
    const { options, on } = this;
    const id = await unfinishedMove(on.target);
    if (id !== null && id !== marker?.id)
      throw new MoveRefused('the target contains the unfinished move of another database; use an empty database');
    const applied = await migrationsOf(on.source);
    const known = await migrationNamesIn(options.migrations);
    if (applied.join() !== known.join()) {
      throw new MoveRefused(
        'the database has not been migrated to this version of the program; start the gateway once',
      );
    }
  }

  async #users(): Promise<number> {
    const { source } = this.on;
    const processes = await countOtherUsers(source);
    // A process that has lost its lock, or that isn't a gateway, has sessions only.
    return processes === 0 && (await sessionsIn(source)) > 0 ? 1 : processes;
  }

  #mark(id: string, state: MoveMarker['state']): Promise<void> {
    return writeMoveMarker(this.options.dataDir, { id, target: this.#address, state, isAudited: this.#isAudited });
  }

  async #report(state: MoveReport['state'], parts: Partial<MoveReport>): Promise<MoveReport> {
    return {
      state,
      target: this.#address,
      users: await this.#users(),
      tables: [],
      sequences: 0,
      downtimeSeconds: null,
      ...parts,
      seconds: (performance.now() - this.#startedAt) / 1_000,
    };
  }
}

/** Returns the database's address without user and password. */
function addressOf({ host, port, database }: Client): string {
  return `${host}:${port}/${database}`;
}

/** Returns the number of sessions in the client's database, except those of moves. */
async function sessionsIn(client: Client): Promise<number> {
  const { rows } = await client.query<{ sessions: number }>(
    `SELECT count(*)::int AS sessions FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> $1`,
    [APPLICATION],
  );
  return rows[0]!.sessions;
}

/** Keeps all others from writing to the tables until the transaction ends. */
function lockAll(tables: readonly Table[]): string {
  return `BEGIN; LOCK TABLE ${tables.map(({ name }) => `public.${name}`).join(', ')} IN SHARE MODE`;
}

/** Connections that are closed together. */
class Sessions {
  readonly #clients: Client[] = [];

  async open(connectionString: string): Promise<Client> {
    const client = new Client({ connectionString, application_name: APPLICATION, keepAlive: true });
    // A lost connection makes the query in progress fail anyway. Without this listener, it would also end the process.
    client.on('error', () => {});
    this.#clients.push(client);
    await client.connect();
    await client.query(SETTINGS);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end().catch(() => {})));
  }
}

async function lock(client: Client, refusal: string): Promise<void> {
  for (let waitedMs = 0; waitedMs <= LOCK_WAIT_MS; waitedMs += LOCK_POLL_MS) {
    const { rows } = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [MOVE_LOCK]);
    if (rows[0]!.mine) return;
    await sleep(LOCK_POLL_MS);
  }
  throw new MoveRefused(refusal);
}
