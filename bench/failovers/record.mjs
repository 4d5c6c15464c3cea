/** Responses that don't count as faults. The last three are connections to a gateway that was killed. */
const EXPECTED = [200, 201, 202, 409, 503, 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'];

/** Responses that the clients received. */
export class Record {
  /** Time of each successful deploy and the longest wait for any response, on the performance.now() clock. */
  deployedAt = [];
  slowestMs = 0;
  statuses = {};
  unexpected = [];
  /** Acknowledged deploys: instance id → account number. */
  deployed = new Map();
  destroyed = new Set();
  /** Acknowledged credits, by reference. */
  credits = [];
  /** Top-ups with a payment whose callback was acknowledged: top-up id → transaction. */
  paid = new Map();
  callbacks = 0;
  streamEnds = 0;

  count(status, body) {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    if (!EXPECTED.includes(status)) this.unexpected.push(`${status} ${String(body).slice(0, 300)}`);
  }

  /** Starts counting responses again. Acknowledged writes are kept. */
  restart() {
    this.deployedAt = [performance.now()];
    this.slowestMs = 0;
    this.statuses = {};
    this.streamEnds = 0;
  }

  longestGapMs() {
    const times = [...this.deployedAt, performance.now()];
    return Math.max(...times.slice(1).map((time, index) => time - times[index]));
  }
}
