import { type Logger, pino } from 'pino';
import { type Config, loadEnvFile, readConfig } from '../compose/config.js';
import type { Deps } from '../compose/deps.js';
import { openDomain } from '../compose/gateway.js';
import { systemClock } from '../std/system-clock.js';

export type Run = (command: (deps: Deps) => Promise<void>) => Promise<void>;

/** Runs a command on its own database connection, whether or not the gateway is running. */
export const run: Run = async (command) => {
  loadEnvFile();
  return runOn(readConfig(process.env), pino({ level: 'warn' }, pino.destination(2)), command);
};

export async function runOn(config: Config, log: Logger, command: (deps: Deps) => Promise<void>): Promise<void> {
  const domain = await openDomain(config, systemClock, log);
  try {
    await command(domain.deps);
  } finally {
    await domain.close();
  }
}
