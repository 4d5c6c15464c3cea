import { LRUCache } from 'lru-cache';
import type { Report } from '../../agent-protocol/protocol.js';
import type { Notices } from '../../database/notices.js';

/** Maximum number of machines whose last report is cached. */
const MAX_CACHED = 20_000;

/** The last report that this process received from a machine. */
interface ReceivedReport {
  session: string;
  sequence: number;
  /** The report without its sequence number and samples. */
  content: string;
}

/**
 * Caches the last report that this process wrote for each machine. An entry is dropped when another process changes the
 * data covered by the report.
 */
export class ReceivedReports {
  readonly #notices: Notices;
  readonly #received = new LRUCache<string, ReceivedReport>({ max: MAX_CACHED });

  constructor(notices: Notices) {
    this.#notices = notices;
    notices.subscribe({
      onNotice: (notice, isOwn) => {
        if (notice.table === 'host' || (notice.table === 'container' && !isOwn)) this.forget(notice.machine);
        // The set of known GPUs may have changed.
        else if (notice.table === 'machine') this.#forgetAll(notice.ids);
      },
      onLost: () => this.#received.clear(),
    });
  }

  /**
   * Whether the report contains nothing new and directly follows the previous report of the same agent run. In that
   * case, no other gateway received a report in between.
   */
  isRepeated(machineId: string, report: Report): boolean {
    const last = this.#received.get(machineId);
    if (last === undefined || !this.#notices.isListening) return false;
    if (last.session !== report.session || last.sequence + 1 !== report.sequence) return false;
    if (last.content !== contentOf(report)) return false;
    last.sequence = report.sequence;
    return true;
  }

  record(machineId: string, report: Report): void {
    const { session, sequence } = report;
    this.#received.set(machineId, { session, sequence, content: contentOf(report) });
  }

  /** Drops the reports of these machines, or all reports if no machines are given. */
  #forgetAll(machineIds: readonly string[] | undefined): void {
    if (machineIds === undefined) this.#received.clear();
    else for (const id of machineIds) this.forget(id);
  }

  forget(machineId: string): void {
    this.#received.delete(machineId);
  }
}

function contentOf({ session: _, sequence: __, samples: ___, ...content }: Report): string {
  return JSON.stringify(content);
}
