import { performance } from 'node:perf_hooks';
import { MAX_WANTED_STREAMS, type WantedStream } from '../../agent/protocol.js';
import type { Notices } from '../../database/notices.js';

/** Machines with wanted streams that are remembered at most. */
const MAX_MACHINES = 20_000;
/** Longer than the gateway that wants it waits. */
const KEPT_MS = 11_000;

interface Want extends WantedStream {
  untilMs: number;
}

/**
 * The streams that machines' agents are to dial. Every gateway hears of each by a change notice, and names it once to
 * the agent that asks there; agents know what they have dialled already. Nothing is written: a stream that nobody dials
 * within seconds is forgotten.
 */
export class StreamWants {
  readonly #notices: Notices;
  readonly #wants = new Map<string, Want[]>();
  /** Told of a machine that has news. */
  onWant: (machineId: string) => void = () => {};

  constructor(notices: Notices) {
    this.#notices = notices;
    notices.subscribe({
      onNotice: (notice) => {
        if (notice.table === 'stream') this.#add(notice.machine, [{ id: notice.id, url: notice.url }]);
      },
    });
  }

  /** Tells every gateway. */
  publish(machineId: string, { id, url }: WantedStream): void {
    this.#notices.publish([{ table: 'stream', machine: machineId, id, url }]);
  }

  /** What is wanted of the machine and was not taken here before. */
  take(machineId: string): WantedStream[] {
    const wants = this.#wants.get(machineId);
    if (wants === undefined) return [];
    this.#wants.delete(machineId);
    const now = performance.now();
    return wants.filter(({ untilMs }) => untilMs > now).map(({ id, url }) => ({ id, url }));
  }

  has(machineId: string): boolean {
    return this.#wants.has(machineId);
  }

  /** What was taken and did not reach the agent. */
  giveBack(machineId: string, wants: readonly WantedStream[]): void {
    if (wants.length > 0) this.#add(machineId, wants);
  }

  #add(machineId: string, added: readonly WantedStream[]): void {
    const wants = this.#wants.get(machineId) ?? [];
    const untilMs = performance.now() + KEPT_MS;
    this.#wants.delete(machineId);
    this.#wants.set(machineId, [...wants, ...added.map((want) => ({ ...want, untilMs }))].slice(-MAX_WANTED_STREAMS));
    this.#forgetOld();
    this.onWant(machineId);
  }

  /** The oldest machines come first. */
  #forgetOld(): void {
    const now = performance.now();
    for (const [machineId, wants] of this.#wants) {
      if (this.#wants.size <= MAX_MACHINES && wants.at(-1)!.untilMs > now) break;
      this.#wants.delete(machineId);
    }
  }
}
