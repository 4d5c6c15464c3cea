import { SAMPLE_SECONDS } from '../../agent-protocol/protocol.js';
import type { AgentClock } from '../clock.js';

const SLOT_MS = SAMPLE_SECONDS * 1_000;
/** Earliest offset within a slot when rounds are due. The known gateway time is never off by more than this. */
const MARGIN_MS = 3_000;
/** Difference above which a new gateway time is adopted. A single response may be off by about a second. */
const MAX_OFF_MS = 2_000;
/** Maximum duration of a request whose response shows the gateway's time reliably. */
const MAX_ROUND_TRIP_MS = 1_000;
const HALF_SECOND_MS = 500;

/**
 * Numbers the rounds of samples by 10-second slots since the Unix epoch, on the gateway's clock. Each round gets the
 * next slot, even if it begins a little early or late, and regardless of how long its report takes. Until the gateway
 * has sent its time, the host's clock is used.
 */
export class Slots {
  readonly #clock: AgentClock;
  /** How far the gateway's clock is ahead of the host's, or null until known. */
  #aheadMs: number | null = null;
  /** Offset of the rounds within their slots, and the slot of the next round. Both are null until known. */
  #phaseMs: number | null = null;
  #next: number | null = null;

  constructor(clock: AgentClock) {
    this.#clock = clock;
  }

  /**
   * Adopts the gateway's time, in whole seconds, from the response to a request sent at `sentAt` on the host's clock.
   */
  syncTime(gatewaySeconds: number, sentAt: number): void {
    const receivedAt = this.#clock.now();
    const tookMs = receivedAt - sentAt;
    if (tookMs < 0 || tookMs > MAX_ROUND_TRIP_MS) return;
    const aheadMs = gatewaySeconds * 1_000 + HALF_SECOND_MS - (sentAt + tookMs / 2);
    if (this.#aheadMs !== null && Math.abs(aheadMs - this.#aheadMs) <= MAX_OFF_MS) return;
    this.#aheadMs = aheadMs;
    this.#phaseMs = null;
    this.#next = null;
  }

  /** Returns the slot for a round that begins now. */
  take(): number {
    const now = this.#now();
    const first = now - MARGIN_MS;
    // Hosts start at random times within a slot, and this keeps their rounds spread out.
    this.#phaseMs ??= MARGIN_MS + ((first % SLOT_MS) / SLOT_MS) * (SLOT_MS - MARGIN_MS);
    const due = slotAt(this.#next === null ? first : now - this.#phaseMs);
    const slot = due + 1 === this.#next ? this.#next : due;
    this.#next = slot + 1;
    return slot;
  }

  /** Returns the milliseconds until the next round is due. */
  untilNext(): number {
    if (this.#next === null || this.#phaseMs === null) return SLOT_MS;
    // Bounded, because either clock may have been adjusted in the meantime.
    return Math.min(Math.max(this.#next * SLOT_MS + this.#phaseMs - this.#now(), 0), 2 * SLOT_MS);
  }

  #now(): number {
    return this.#clock.now() + (this.#aheadMs ?? 0);
  }
}

function slotAt(ms: number): number {
  return Math.floor(ms / SLOT_MS);
}
