import { type InstanceSample, MAX_INSTANCES } from '../../agent-protocol/protocol.js';
import type { Database } from '../../database/database.js';
import { isUnavailable } from '../../database/faults.js';
import { only } from '../../database/only.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { GPU_COLUMNS, INSTANCE_COLUMNS, namesOf } from './columns.js';
import { SAMPLE_SECONDS, slotOf } from './rules/samples.js';

/** Samples that arrive within this time are written together. */
const WRITE_EVERY_MS = 1_000;
/**
 * Maximum number of samples waiting to be written, and of the GPU entries in them. Both need a limit, because agents
 * choose how many they send.
 */
const MAX_BUFFERED = 20_000;
const MAX_BUFFERED_GPUS = 100_000;
/** Maximum number of buffered samples per machine. No agent puts more into one report. */
const MAX_BUFFERED_OF_MACHINE = MAX_INSTANCES;
/** Fractions are rounded to thousandths, because the database columns reject values that are too close to 0. */
const PARTS_OF_ONE = 1_000;

/** A sample, keyed by its database columns. */
interface BufferedSample {
  machine_id: string;
  start: number;
  instance_id: string;
  at: string;
  gpus: object[];
}

/**
 * Buffers host agents' samples until they are written to the database, many per statement and without change notices.
 * Samples that don't fit into the buffer or can't be written are dropped and counted, because they are only for
 * display.
 */
export class SampleBuffer {
  readonly #db: Database;
  readonly #maxBuffered: number;
  readonly #onFault: (error: unknown) => void;
  /** Samples by machine, instance and slot. Only the first sample in a slot counts. */
  #buffered = new Map<string, BufferedSample>();
  #bufferedGpus = 0;
  /** Number of samples per machine. */
  #ofMachine = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  /** Counts since the process started. */
  written = 0;
  dropped = 0;

  constructor(db: Database, onFault: (error: unknown) => void, maxBuffered = MAX_BUFFERED) {
    this.#db = db;
    this.#maxBuffered = maxBuffered;
    this.#onFault = onFault;
  }

  /** Buffers the samples from a report received at `at`. */
  add(machineId: string, samples: readonly InstanceSample[], at: Instant): void {
    for (const sample of samples) {
      this.#keep(rowOf(machineId, sample, at));
    }
    this.#plan();
  }

  /**
   * Writes the buffered samples and resolves when done. If the database is unreachable, they are kept for the next
   * attempt.
   */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write());
    return this.#writing;
  }

  #keep(sample: BufferedSample): void {
    const key = `${sample.machine_id} ${sample.instance_id} ${sample.at}`;
    if (this.#buffered.has(key)) return;
    const ofMachine = this.#ofMachine.get(sample.machine_id) ?? 0;
    const isFull =
      this.#buffered.size >= this.#maxBuffered || this.#bufferedGpus + sample.gpus.length > MAX_BUFFERED_GPUS;
    if (isFull || ofMachine >= MAX_BUFFERED_OF_MACHINE) {
      this.dropped += 1;
      return;
    }
    this.#buffered.set(key, sample);
    this.#ofMachine.set(sample.machine_id, ofMachine + 1);
    this.#bufferedGpus += sample.gpus.length;
  }

  #plan(): void {
    if (this.#buffered.size === 0) return;
    this.#timer ??= setTimeout(() => this.flush().catch(this.#onFault), WRITE_EVERY_MS).unref();
  }

  async #write(): Promise<void> {
    if (this.#buffered.size === 0) return;
    const samples = this.#buffered;
    this.#buffered = new Map();
    this.#bufferedGpus = 0;
    this.#ofMachine = new Map();
    try {
      const values = [JSON.stringify([...samples.values()])];
      const { rows } = await this.#db.pool.query<{ written: number }>({ name: 'samples', text: WRITE_SQL, values });
      this.written += only(rows).written;
    } catch (error) {
      if (isUnavailable(error)) for (const sample of samples.values()) this.#keep(sample);
      else this.dropped += samples.size;
      this.#plan();
      throw error;
    }
  }
}

function rowOf(machineId: string, sample: InstanceSample, at: Instant): BufferedSample {
  const { id, start, age: _, slot: __, gpus, ...measured } = sample;
  return {
    ...inColumns(INSTANCE_COLUMNS, measured),
    machine_id: machineId,
    start,
    instance_id: id,
    at: formatInstant(slotOf(sample, at)),
    gpus: gpus.map(({ place, ...gpu }) => ({
      ...inColumns(GPU_COLUMNS, { ...gpu, busyMaxPercent: gpu.busyPercent }),
      place,
    })),
  };
}

function inColumns(columns: typeof INSTANCE_COLUMNS, measured: Readonly<Record<string, number | null>>): object {
  return Object.fromEntries(columns.map(({ name, as }) => [name, rounded(measured[as] ?? null)]));
}

function rounded(value: number | null): number | null {
  return value === null || Number.isInteger(value) ? value : Math.round(value * PARTS_OF_ONE) / PARTS_OF_ONE;
}

/**
 * Writes the valid samples in a fixed order, so that two gateways with the same samples don't deadlock. A sample is
 * valid if its container is on this machine, if it belongs to the start in which the container was last seen, if that
 * start has run, and if it was taken before the instance stopped. A GPU sample is valid if the instance has that GPU.
 */
const WRITE_SQL = `
  with seen as (
    select measured.*, about.machine_id, about.start, about.gpus, num_gpus
    from json_array_elements($1::json) as each
      cross join json_populate_record(null::instance_sample, each) as measured
      cross join json_to_record(each) as about (machine_id text, start int, gpus json)
      join container on container.instance_id = measured.instance_id and container.machine_id = about.machine_id
      join instance on instance.id = measured.instance_id
    where container.start = about.start and phase in ('RUNNING', 'STOPPING', 'SAVING', 'STOPPED', 'EXITED')
      and (stopped_at is null or at < stopped_at)
  ), written as (
    insert into instance_sample (step_seconds, instance_id, at, ${namesOf(INSTANCE_COLUMNS)})
    select ${SAMPLE_SECONDS}, instance_id, at, ${namesOf(INSTANCE_COLUMNS)} from seen order by instance_id, at
    on conflict do nothing returning instance_id, at
  ), gpus as (
    insert into gpu_sample (step_seconds, instance_id, at, place, ${namesOf(GPU_COLUMNS)})
    select ${SAMPLE_SECONDS}, seen.instance_id, seen.at, gpu.place, ${GPU_COLUMNS.map(({ name }) => `gpu.${name}`).join(', ')}
    from written join seen using (instance_id, at)
      cross join json_populate_recordset(null::gpu_sample, seen.gpus) as gpu
    where gpu.place < num_gpus
    on conflict do nothing
  )
  select count(*)::int as written from written`;
