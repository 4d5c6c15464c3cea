import { LRUCache } from 'lru-cache';
import type { Report } from '../../agent/protocol.js';
import type { Notices } from '../../database/notices.js';

/** Most machines whose last report is remembered. */
const REMEMBERED = 20_000;

/** The last report of a machine to this process. */
interface Heard {
  session: string;
  sequence: number;
  /** The report without its sequence number and its samples. */
  content: string;
}

/** The last reports that were written down here. One is forgotten when another hand changes what it said. */
export class HeardReports {
  readonly #notices: Notices;
  readonly #heard = new LRUCache<string, Heard>({ max: REMEMBERED });

  constructor(notices: Notices) {
    this.#notices = notices;
    notices.subscribe({
      onNotice: (notice, isOwn) => {
        if (notice.table === 'host' || (notice.table === 'container' && !isOwn)) this.forget(notice.machine);
        // What is known of its GPUs may have changed.
        else if (notice.table === 'machine') this.#forgetAll(notice.ids);
      },
      onLost: () => this.#heard.clear(),
    });
  }

  /** Whether the report is the next of its run, so that no other gateway had one between, and says nothing new. */
  isRepeated(machineId: string, report: Report): boolean {
    const heard = this.#heard.get(machineId);
    if (heard === undefined || !this.#notices.isListening) return false;
    if (heard.session !== report.session || heard.sequence + 1 !== report.sequence) return false;
    if (heard.content !== contentOf(report)) return false;
    heard.sequence = report.sequence;
    return true;
  }

  note(machineId: string, report: Report): void {
    const { session, sequence } = report;
    this.#heard.set(machineId, { session, sequence, content: contentOf(report) });
  }

  /** Undefined: of every machine. */
  #forgetAll(machineIds: readonly string[] | undefined): void {
    if (machineIds === undefined) this.#heard.clear();
    else for (const id of machineIds) this.forget(id);
  }

  forget(machineId: string): void {
    this.#heard.delete(machineId);
  }
}

function contentOf({ session: _, sequence: __, samples: ___, ...content }: Report): string {
  return JSON.stringify(content);
}
