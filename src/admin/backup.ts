import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { ConfigError, loadEnvFile, readConfig } from '../compose/config.js';
import { backUp } from '../database/embedded/backup.js';
import { holdsDatabase, openEmbeddedPostgres } from '../database/embedded/embedded-postgres.js';
import { restore } from '../database/embedded/restore.js';
import { runAudit } from './audit.js';
import { type Output, printJson } from './output.js';
import type { Run } from './run.js';

/** PostgreSQL's own bounds for the transfer rate, in kB/s. */
const [MIN_RATE, MAX_RATE] = [32, 1_048_576];

export function addBackupCommands(program: Command, run: Run): void {
  program
    .command('backup <file>')
    .description('Back up the built-in PostgreSQL, even while it is in use')
    .option('--max-rate <kb>', `Maximum read rate in kB per second, ${MIN_RATE} to ${MAX_RATE}`, rate)
    .option('--json', 'Print JSON')
    .action(async (file: string, options: Output & { maxRate?: number }) => {
      const dataDir = builtInDataDir('backup');
      const path = resolve(file);
      refuseUnwritable(path);
      if (!holdsDatabase(dataDir)) throw new ConfigError(`DATA_DIR ${dataDir} contains no database`);
      // Unlike in the gateway, the database is opened without running migrations, because a backup must not change it.
      const { url, release } = await openEmbeddedPostgres({ dataDir });
      try {
        const bytes = await backUp({ url, file: path, kilobytesPerSecond: options.maxRate ?? null });
        if (options.json) printJson({ file: path, bytes });
        else process.stdout.write(`wrote ${path}, ${(bytes / 1e6).toFixed(1)} MB\n`);
      } finally {
        await release();
      }
    });
  program
    .command('restore <file>')
    .description('Restore a backup into an empty DATA_DIR, and audit it')
    .option('--json', 'Print JSON')
    .action(async (file: string, options: Output) => {
      const dataDir = builtInDataDir('restore');
      await restore(resolve(file), dataDir);
      if (!options.json) process.stdout.write(`restored to ${dataDir}\n`);
      await run((deps) => runAudit(deps, options));
    });
}

/** Checks the path before the server for the backup is started. */
function refuseUnwritable(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new ConfigError(`${path} is a folder`);
  // The backup replaces the file, which would remove a device such as /dev/null from the system.
  if (found !== undefined && !found.isFile()) throw new ConfigError(`${path} is not a regular file`);
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new ConfigError(`${path} can't be written: ${(error as NodeJS.ErrnoException).code}`);
  }
}

export function builtInDataDir(command: string): string {
  loadEnvFile();
  const { databaseUrl, dataDir } = readConfig(process.env);
  if (databaseUrl === null) return dataDir;
  throw new ConfigError(
    `${command} only works with the built-in PostgreSQL. DATABASE_URL is set; use that server's own tools`,
  );
}

function rate(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= MIN_RATE && value <= MAX_RATE) return value;
  throw new InvalidArgumentError(`must be a whole number from ${MIN_RATE} to ${MAX_RATE}.`);
}
