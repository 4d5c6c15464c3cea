import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerDetail } from './engine/engine.js';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

interface StartRecord {
  start: number;
  /** The container's run before this start, or null if there was none. */
  runBefore: string | null;
  /** Id of the host boot during which the container was started. */
  boot: string;
  /** Whether the container was observed to end without being stopped. */
  hasEnded?: boolean;
}

/**
 * Records on disk which start a container was last started for. An agent that was down in the meantime can then
 * determine which start a command ended in. Written before the container is started, so that no command runs twice.
 */
export class StartRecords {
  readonly #dir: string;
  readonly #bootId: () => Promise<string>;

  /** `bootId` returns a value that differs after each boot of the host. */
  constructor(dataDir: string, bootId = () => readFile(BOOT_ID, 'utf8')) {
    this.#dir = join(dataDir, 'starts');
    this.#bootId = bootId;
  }

  /** Called before a container is started. */
  async begin(instanceId: string, { start, runBefore }: Pick<StartRecord, 'start' | 'runBefore'>): Promise<void> {
    await this.#write(instanceId, { start, runBefore, boot: await this.#bootId() });
  }

  /**
   * Whether the command of a container that isn't running ended on its own in this start. False if it ended with its
   * host, or was stopped by this agent (`erase`).
   */
  async hasEnded({ instanceId, exitCode, startedAt }: ContainerDetail, start: number): Promise<boolean> {
    const record = await this.#read(instanceId);
    if (record === null || exitCode === null || record.start !== start || record.runBefore === startedAt) return false;
    if (record.hasEnded) return true;
    if (record.boot !== (await this.#bootId())) return false;
    await this.#write(instanceId, { ...record, hasEnded: true });
    return true;
  }

  async erase(instanceId: string): Promise<void> {
    await rm(this.#path(instanceId), { force: true });
  }

  async #read(instanceId: string): Promise<StartRecord | null> {
    const text = await readFile(this.#path(instanceId), 'utf8').catch(() => null);
    return text === null ? null : (JSON.parse(text) as StartRecord);
  }

  async #write(instanceId: string, record: StartRecord): Promise<void> {
    await mkdir(this.#dir, { recursive: true, mode: 0o700 });
    const unfinished = `${this.#path(instanceId)}.new`;
    await writeFile(unfinished, JSON.stringify(record), { flush: true });
    await rename(unfinished, this.#path(instanceId));
  }

  #path(instanceId: string): string {
    return join(this.#dir, instanceId);
  }
}
