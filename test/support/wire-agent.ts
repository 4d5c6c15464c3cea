import { randomBytes } from 'node:crypto';
import type { DesiredState, Hardware, ObservedInstance, Report } from '../../src/agent-protocol/protocol.js';
import { hardware } from './agent.js';

/** A machine's agent as seen by a gateway over HTTP. It reports what the test sets. */
export class WireAgent {
  /** Address of the gateway, which the test changes when the gateway restarts at another one. */
  address: string;
  readonly machineId: string;
  /** Whether the agent supports launches. False for an older agent. */
  launches = true;
  /** Whether the host supports volumes. False for a host without restic. */
  volumes = true;
  /** Whether the agent supports users of launches. False for an older version. */
  users = true;
  /** Whether the host's operator lets containers mount FUSE file systems. */
  fuse = false;
  readonly #token: string;
  readonly #session = randomBytes(8).toString('hex');
  #sequence = 0;
  #generation = 0;

  private constructor(address: string, machineId: string, token: string) {
    this.address = address;
    this.machineId = machineId;
    this.#token = token;
  }

  static async join(address: string, code: string, found: Partial<Hardware> = {}): Promise<WireAgent> {
    const body = { protocol: 2, code, hardware: hardware(found) };
    const answer = await fetch(`${address}/agent/v1/join`, { method: 'POST', body: JSON.stringify(body) });
    if (answer.status !== 201) throw new Error(`join: ${answer.status} ${await answer.text()}`);
    const { machineId, token } = (await answer.json()) as { machineId: string; token: string };
    return new WireAgent(address, machineId, token);
  }

  /** Returns the next document if one arrives in time, with the requested streams if the agent serves them. */
  async desired(waitSeconds = 5, takesStreams = false): Promise<DesiredState> {
    const path = `/desired?after=${this.#generation}&wait=${waitSeconds}${takesStreams ? '&streams=1' : ''}`;
    const answer = await fetch(`${this.address}/agent/v1${path}`, { headers: this.headers() });
    if (answer.status !== 200) throw new Error(`no news: ${answer.status}`);
    const state = (await answer.json()) as DesiredState;
    this.#generation = state.generation;
    return state;
  }

  async report(instances: ObservedInstance[] = [], changes: Partial<Report> = {}): Promise<void> {
    this.#sequence += 1;
    const body = {
      protocol: 2,
      session: this.#session,
      sequence: this.#sequence,
      generation: this.#generation,
      instances,
      unknown: [],
      engine: 'ok',
      launches: this.launches,
      loads: this.launches,
      volumes: this.volumes,
      users: this.users,
      fuse: this.fuse,
      ...changes,
    };
    const init = { method: 'POST', headers: this.headers(), body: JSON.stringify(body) };
    const answer = await fetch(`${this.address}/agent/v1/report`, init);
    if (answer.status !== 200) throw new Error(`report: ${answer.status} ${await answer.text()}`);
  }

  headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#token}` };
  }
}
