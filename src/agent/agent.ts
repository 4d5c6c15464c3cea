import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { AGENT_PROTOCOL, HEARTBEAT_SECONDS, MAX_WAIT_SECONDS, type Report } from '../agent-protocol/protocol.js';
import { type AgentClock, pauseMs } from './clock.js';
import type { Disks } from './disks.js';
import type { Engine } from './engine/engine.js';
import { type Gateway, GatewayFault } from './gateway.js';
import type { GpuAccess } from './gpus/gpu-access.js';
import { LoadWatch } from './load-watch.js';
import type { PullLimits } from './pull-pace.js';
import { Reconciler } from './reconciler.js';
import type { Registries } from './registries.js';
import { PendingSamples } from './samples/pending-samples.js';
import { type Measurement, Sampler } from './samples/sampler.js';
import type { SecretFiles } from './secret-files.js';
import type { StartRecords } from './start-records.js';
import { AgentTunnels } from './tunnels/tunnels.js';
import type { HostVolumes } from './volumes/host-volumes.js';

/** Changes within this many milliseconds are combined into one report. */
const REPORT_TOGETHER_MS = 50;
/** Additional delay before a heartbeat while samples are being taken. Each sample triggers a report anyway. */
const WAIT_FOR_SAMPLES_MS = 1_000;
const POLL_EVERY_MS = 1_000;
const CHECK_GPUS_EVERY_MS = 300_000;
/** Pause before querying an unresponsive GPU driver again. */
const RECHECK_GPUS_MS = 30_000;
/** Tunnel requests within this many milliseconds are combined into one response. */
const TUNNELS_TOGETHER_MS = 20;
/** Minimum time between two reports that differ only in a pull's byte count. */
const PROGRESS_EVERY_MS = 1_000;
/**
 * Maximum pause while the gateway is unreachable. It is short so that the agent reconnects soon after a gateway
 * restart.
 */
const MAX_UNREACHABLE_PAUSE_MS = 4_000;
/** Maximum pause while the gateway refuses requests or sends invalid responses. */
const MAX_REFUSED_PAUSE_MS = 30_000;

export interface AgentDeps {
  gateway: Gateway;
  engine: Engine;
  disks: Disks;
  volumes: HostVolumes;
  gpus: GpuAccess;
  /** Whether containers may mount FUSE file systems. */
  allowsFuse: boolean;
  /** Whether the GPUs are simulated. */
  pretended: boolean;
  registries: Registries;
  ownImages: ReadonlySet<string>;
  clock: AgentClock;
  log: Logger;
  machineId: string;
  stopSeconds: number;
  pullLimits: PullLimits;
  secretFiles: SecretFiles;
  records: StartRecords;
  /** Seconds without contact with the gateway before the agent stops the containers. */
  cutOffSeconds: number;
  /** Time of the last contact with the gateway, kept across restarts of the agent. */
  lastContact: { read(): number | null; write(now: number): void };
}

/** Requests the desired state, reports the observed state, and lets the reconciler make them match. */
export class Agent {
  readonly #reconciler: Reconciler;
  readonly #tunnels: AgentTunnels;
  readonly #sampler: Sampler;
  readonly #samples: PendingSamples;
  readonly #loads: LoadWatch;
  readonly #session = randomUUID();
  readonly #ending = new AbortController();
  #sequence = 0;
  /** Aborted when there is something to report. */
  #reportDue = new AbortController();
  /** Aborted when the gateway has a newer document than the agent. */
  #staleness = new AbortController();
  /** Aborts a report in flight. */
  #call = new AbortController();
  #progressDue = false;
  #lastContact: number;
  #reportedProblem = '';

  constructor(private readonly deps: AgentDeps) {
    const { engine, log, gateway } = deps;
    this.#reconciler = new Reconciler({
      ...deps,
      secretsOf: ({ id, start }) => gateway.secrets(id, start),
      volumeAccess: (id, start) => gateway.volumes(id, start),
      changed: (kind) => this.#changed(kind),
    });
    const up = () => this.#reconciler.up;
    this.#loads = new LoadWatch({ pretended: deps.pretended, up });
    this.#samples = new PendingSamples(deps.clock);
    this.#sampler = new Sampler({
      ...deps,
      up,
      keep: (sample, at) => this.#samples.keep(sample, at),
      onMeasured: (measurements) => this.#onMeasured(measurements),
    });
    const seen = (instanceId: string) => this.#reconciler.seen(instanceId);
    this.#tunnels = new AgentTunnels({ engine, log, gateway, seen, machineId: deps.machineId });
    this.#lastContact = Math.min(deps.lastContact.read() ?? deps.clock.now(), deps.clock.now());
  }

  /** Runs until `end` is called. */
  async run(): Promise<void> {
    const watching = this.#reconciler.run();
    this.#checkCutOff();
    // The desired state is requested first, so that the first report already refers to it.
    await this.#pollOnce(0);
    const sampling = this.#sampler.run(this.#ending.signal);
    await Promise.all([watching, this.#poll(), this.#report(), this.#watchContact(), this.#watchGpus(), sampling]);
  }

  /** Stops the agent without touching the containers. */
  end(): void {
    this.#ending.abort();
    this.#reportDue.abort();
    this.#call.abort();
    this.#staleness.abort();
    this.#reconciler.end();
    this.#tunnels.end();
  }

  get #ended(): boolean {
    return this.#ending.signal.aborted;
  }

  async #poll(): Promise<void> {
    let faults = 0;
    while (!this.#ended) {
      const polledAt = this.deps.clock.now();
      const outcome = await this.#pollOnce(MAX_WAIT_SECONDS);
      faults = outcome instanceof Error ? faults + 1 : 0;
      if (outcome instanceof Error) await this.#pause(outcome, faults);
      else if (outcome === 'tunnels') await this.deps.clock.sleep(TUNNELS_TOGETHER_MS, this.#ending.signal);
      // Prevents a busy loop if the gateway doesn't wait, or keeps sending the same document.
      else if (outcome === 'nothing new') {
        await this.deps.clock.sleep(polledAt + POLL_EVERY_MS - this.deps.clock.now(), this.#ending.signal);
      }
    }
  }

  /**
   * Requests the desired state once. An error or an empty response leaves everything unchanged. `stale` means that the
   * caller must request again immediately.
   */
  async #pollOnce(waitSeconds: number): Promise<Error | 'new' | 'nothing new' | 'stale' | 'tunnels'> {
    this.#staleness = new AbortController();
    if (this.#ended) this.#staleness.abort();
    const stale = this.#staleness.signal;
    // While cut off or without a document, the agent requests the whole document regardless of its generation.
    const after = this.#reconciler.isCutOff ? 0 : this.#reconciler.generation;
    try {
      const document = await this.deps.gateway.desired(after, waitSeconds, stale);
      this.#reached();
      if (document === null || this.#ended) return 'nothing new';
      const { generation, instances, streams: tunnels = [] } = document;
      this.#tunnels.dial(tunnels);
      if (tunnels.length > 0 && generation === after) return 'tunnels';
      const known = generation === this.#reconciler.generation;
      if (!known) this.deps.log.info({ generation, instances: instances.length }, 'desired state received');
      await this.#reconciler.apply(document);
      return known ? 'nothing new' : 'new';
    } catch (error) {
      if (stale.aborted) return 'stale';
      this.#reportProblem(error as Error);
      return error as Error;
    }
  }

  async #report(): Promise<void> {
    let faults = 0;
    while (!this.#ended) {
      this.#reportDue = new AbortController();
      this.#progressDue = false;
      this.#call = new AbortController();
      const sent = this.deps.clock.now();
      const { samples, done } = this.#samples.unsent();
      try {
        this.#sequence += 1;
        const { state } = this.#reconciler;
        const { instances, markReported } = this.#loads.withLoad(state.instances);
        const { generation, now } = await this.deps.gateway.report(
          {
            protocol: AGENT_PROTOCOL,
            session: this.#session,
            sequence: this.#sequence,
            ...state,
            instances,
            ...this.#gpus,
            launches: true,
            loads: true,
            volumes: this.deps.volumes.isOffered,
            users: true,
            fuse: this.deps.allowsFuse,
            cutOffSeconds: this.deps.cutOffSeconds,
            ...(samples.length > 0 && { samples }),
          },
          this.#call.signal,
        );
        faults = 0;
        markReported();
        done();
        this.#reached();
        if (now !== undefined) this.#sampler.slots.syncTime(now, sent);
        if (generation !== this.#reconciler.generation) this.#staleness.abort();
      } catch (error) {
        if (this.#ended) return;
        // Any part of the report may have caused the refusal. Dropping the samples ensures that they can't make the
        // next heartbeat fail.
        if (error instanceof GatewayFault && error.kind === 'refused') done();
        this.#reportProblem(error as Error);
        faults += 1;
        await this.#pause(error as Error, faults);
        continue;
      }
      const pause = HEARTBEAT_SECONDS * 1_000 + (this.#reconciler.up.length > 0 ? WAIT_FOR_SAMPLES_MS : 0);
      await this.deps.clock.sleep(pause - (this.deps.clock.now() - sent), this.#reportDue.signal);
      if (!this.#ended) await this.deps.clock.sleep(REPORT_TOGETHER_MS, this.#ending.signal);
    }
  }

  get #gpus(): Pick<Report, 'gpus'> {
    const { found } = this.deps.gpus;
    return found === null ? {} : { gpus: [...found] };
  }

  /** Reports a missing GPU as soon as it is detected. */
  async #watchGpus(): Promise<void> {
    const { gpus, clock, log } = this.deps;
    let isKnown = gpus.found !== null;
    while (!this.#ended) {
      await clock.sleep(isKnown ? CHECK_GPUS_EVERY_MS : RECHECK_GPUS_MS, this.#ending.signal);
      if (this.#ended) return;
      const before = gpus.found?.join();
      isKnown = await gpus.refresh();
      if (gpus.found?.join() === before) continue;
      log.warn({ before, now: gpus.found?.join() }, "this host's GPUs have changed");
      this.#changed('phase');
    }
  }

  /** Reports immediately, so that viewers see changes soon and a busy instance is not stopped as idle. */
  #onMeasured(measurements: readonly Measurement[]): void {
    this.#loads.record(measurements);
    if (measurements.length > 0) this.#changed('phase');
  }

  #changed(kind: 'phase' | 'progress'): void {
    const due = this.#reportDue;
    if (kind === 'phase') {
      due.abort();
    } else if (!this.#progressDue) {
      this.#progressDue = true;
      void this.deps.clock.sleep(PROGRESS_EVERY_MS, due.signal).then(() => due.abort());
    }
  }

  async #watchContact(): Promise<void> {
    while (!this.#ended) {
      await this.deps.clock.sleep(1_000, this.#ending.signal);
      this.#checkCutOff();
    }
  }

  #checkCutOff(): void {
    const silence = this.deps.clock.now() - this.#lastContact;
    if (silence < this.deps.cutOffSeconds * 1_000 || this.#reconciler.isCutOff) return;
    this.deps.log.warn({ seconds: Math.floor(silence / 1_000) }, 'gateway unreachable; stopping containers');
    this.#reconciler.cutOff();
    this.#staleness.abort();
  }

  #reached(): void {
    this.#lastContact = this.deps.clock.now();
    this.deps.lastContact.write(this.#lastContact);
    if (this.#reportedProblem === '') return;
    this.#reportedProblem = '';
    this.deps.log.info('gateway reachable again');
  }

  /**
   * Logs only the first of consecutive problems of the same kind, so that a long gateway outage doesn't fill the log.
   */
  #reportProblem(error: Error): void {
    const kind = error instanceof GatewayFault ? error.kind : 'failed';
    if (this.#reportedProblem === kind) return;
    this.#reportedProblem = kind;
    const advice =
      kind === 'revoked'
        ? "the gateway does not accept this machine's token; join again"
        : 'request to the gateway failed';
    this.deps.log.warn({ message: error.message, kind }, advice);
  }

  async #pause(fault: Error, faults: number): Promise<void> {
    const isUnreachable = fault instanceof GatewayFault && fault.kind === 'unreachable';
    const pause = pauseMs(faults - 1, isUnreachable ? MAX_UNREACHABLE_PAUSE_MS : MAX_REFUSED_PAUSE_MS);
    // Randomizes the pause, so that the agents of a fleet don't all reconnect in the same second.
    await this.deps.clock.sleep(pause * (0.75 + Math.random() * 0.5), this.#ending.signal);
  }
}
