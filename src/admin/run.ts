import { pino } from 'pino';
import { openDomain } from '../compose.js';
import { loadEnvFile, readConfig } from '../config.js';
import type { Deps } from '../domain/deps.js';
import { systemClock } from '../system-clock.js';

export type Run = (command: (deps: Deps) => Promise<void>) => Promise<void>;

/** Runs a command on a database connection of its own, whether or not the gateway is running. */
export const run: Run = async (command) => {
  loadEnvFile();
  const config = readConfig(process.env);
  const log = pino({ level: 'warn' }, pino.destination(2));
  const domain = await openDomain(config, systemClock, log);
  try {
    await command(domain.deps);
  } finally {
    await domain.close();
  }
};
