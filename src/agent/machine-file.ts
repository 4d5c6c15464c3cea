import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * Result of joining, stored in the data folder: the id of the machine that this host represents, and its token. Only
 * its owner can read the file.
 */
const joinedMachine = z.object({
  gateway: z.string(),
  machineId: z.string(),
  token: z.string(),
  gpu: z.string(),
  diskLimit: z.enum(['quota', 'volume', 'none']),
  pretended: z
    .object({
      count: z.number().int().min(1).max(64),
      name: z.string(),
      vramMb: z.number().int().min(0),
      uuids: z.array(z.string()).optional(),
    })
    .nullable(),
});
export type JoinedMachine = z.infer<typeof joinedMachine>;

/**
 * Interval at which the time of the last contact is stored. It is stored so that silence counts from the last contact
 * even if the agent is restarted often.
 */
const CONTACT_WRITTEN_EVERY_MS = 5_000;

export class MachineFile {
  readonly path: string;
  readonly #contact: string;
  #written = 0;

  constructor(private readonly dataDir: string) {
    this.path = join(dataDir, 'machine.json');
    this.#contact = join(dataDir, 'last-contact');
  }

  /** Returns null if the host has not joined. */
  read(): JoinedMachine | null {
    const text = readOrNull(this.path);
    return text === null ? null : joinedMachine.parse(JSON.parse(text));
  }

  /** Fails if `write` would fail, so that the token is only requested if it can be stored. */
  prepare(): void {
    mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
    closeSync(openSync(`${this.path}.new`, 'w', 0o600));
  }

  /** Writes the complete file atomically, because the token is sent only once. */
  write(machine: JoinedMachine): void {
    mkdirSync(this.dataDir, { recursive: true, mode: 0o700 });
    const unfinished = `${this.path}.new`;
    const file = openSync(unfinished, 'w', 0o600);
    try {
      writeFileSync(file, `${JSON.stringify(machine, null, 2)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(unfinished, this.path);
  }

  /** When the gateway was last reached, stored as the modification time of an empty file. */
  get lastContact() {
    return {
      read: (): number | null => {
        try {
          return statSync(this.#contact).mtimeMs;
        } catch {
          return null;
        }
      },
      write: (now: number): void => {
        if (Math.abs(now - this.#written) < CONTACT_WRITTEN_EVERY_MS) return;
        this.#written = now;
        closeSync(openSync(this.#contact, 'a', 0o600));
        utimesSync(this.#contact, now / 1_000, now / 1_000);
      },
    };
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
