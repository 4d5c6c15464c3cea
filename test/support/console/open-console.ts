import type { Browser } from 'playwright-core';
import { type Database, openDatabase } from '../../../src/database/database.js';
import { createDeps, type Deps } from '../../../src/domain/deps.js';
import { systemClock } from '../../../src/system-clock.js';
import { openChromium } from '../chromium.js';
import { testSettings } from '../clock.js';
import { createTestDatabase } from '../database.js';
import { createRenter, type Renter } from '../gateway.js';
import { cleanUp, type Env, type GatewayProcess, startProcess } from '../process.js';
import { Pages } from './pages.js';

/** A gateway without rate limit, a browser that visits it, and the domain on the same database. */
export class OpenConsole {
  private constructor(
    readonly env: Env,
    private readonly db: Database,
    readonly deps: Deps,
    readonly gateway: GatewayProcess,
    private readonly browser: Browser,
    readonly pages: Pages,
  ) {}

  /** `more` is of the gateway's environment. */
  static async open(more: Env = {}): Promise<OpenConsole> {
    const databaseUrl = await createTestDatabase();
    const db = openDatabase(databaseUrl);
    const deps = createDeps(db, systemClock, testSettings());
    const env = { DATABASE_URL: databaseUrl, RATE_LIMIT_PER_MINUTE: '0', ...more };
    const gateway = await startProcess(env);
    const browser = await openChromium();
    return new OpenConsole(env, db, deps, gateway, browser, new Pages(browser, gateway.address));
  }

  renter(creditUsd = '100'): Promise<Renter> {
    return createRenter(this.deps, this.gateway.address, creditUsd);
  }

  async close(): Promise<void> {
    await this.pages.close();
    await this.browser.close();
    await this.gateway.end();
    await this.db.close();
    await cleanUp();
  }
}
