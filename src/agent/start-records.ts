import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContainerDetail } from './engine/engine.js';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

interface StartRecord {
  start: number;
  /** The run of the container before this start; null when it had none. */
  runBefore: string | null;
  /** Of the host's run in which the container was started. */
  boot: string;
  /** It was seen to end by itself. */
  hasEnded?: boolean;
}

/**
 * Which start a container was last started for, on disk, so that an agent that was not there knows in which start a
 * command ended. Written before the container is started, so that no command runs twice.
 */
export class StartRecords {
  readonly #dir: string;
  readonly #bootId: () => Promise<string>;

  /** `bootId`: different each time the host is started. */
  constructor(dataDir: string, bootId = () => readFile(BOOT_ID, 'utf8')) {
    this.#dir = join(dataDir, 'starts');
    this.#bootId = bootId;
  }

  /** Before a container is started. */
  async begin(instanceId: string, { start, runBefore }: Pick<StartRecord, 'start' | 'runBefore'>): Promise<void> {
    await this.#write(instanceId, { start, runBefore, boot: await this.#bootId() });
  }

  /**
   * Whether the command of the container, which does not run, ended by itself in this start. One that ended with its host,
   * or by this agent (`erase`), did not.
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
