import { mkdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.js';
import { createDeps } from '../../src/domain/deps.js';
import { enrol } from '../../src/domain/fleet/enrolment.js';
import { systemClock } from '../../src/system-clock.js';
import { gpuSampled, hardware, sampled, seen } from '../support/agent.js';
import { openChromium } from '../support/chromium.js';
import { testSettings } from '../support/clock.js';
import { beyondWindow, faultsIn, Pages, SOON_MS } from '../support/console/pages.js';
import { createTestDatabase } from '../support/database.js';
import { createRenter, type Renter } from '../support/gateway.js';
import { cleanUp, type GatewayProcess, startProcess } from '../support/process.js';
import { needs } from '../support/tools.js';
import { WireAgent } from '../support/wire-agent.js';

/** A folder that pictures go to, for whoever wants to look. */
const PICTURES = process.env.PICTURES;

describe('load in Chromium', needs('chromium'), () => {
  let browser: Browser;
  let gateway: GatewayProcess;
  let db: Database;
  let pages: Pages;
  let owner: Renter;
  let agent: WireAgent;
  /** On a machine with two GPUs. */
  let id: string;

  beforeAll(async () => {
    const databaseUrl = await createTestDatabase();
    db = openDatabase(databaseUrl);
    const deps = createDeps(db, systemClock, testSettings());
    gateway = await startProcess({ DATABASE_URL: databaseUrl, RATE_LIMIT_PER_MINUTE: '0' });
    browser = await openChromium();
    pages = new Pages(browser, gateway.address);
    owner = await createRenter(deps, gateway.address, '100');
    const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
    const gpu = hardware().gpus[0]!;
    const { code } = await enrol(deps, input);
    agent = await WireAgent.join(gateway.address, code, { gpus: [gpu, { ...gpu, index: 1, uuid: 'GPU-2' }] });
    await agent.report();
    const rent = () => owner.rest('POST', '/instances', { machine_id: agent.machineId });
    // Until the first heartbeat is written the machine is not on offer.
    const rented = async () => {
      const { status, body } = await rent();
      expect(status).toBe(201);
      return body.id;
    };
    id = await vi.waitFor(rented, { timeout: SOON_MS, interval: 200 });
    await agent.desired();
  });
  afterAll(async () => {
    await pages?.close();
    await browser?.close();
    await gateway?.end();
    await db?.close();
    await cleanUp();
  });

  const load = (age: number, busyPercent: number) =>
    sampled(id, {
      age,
      cpuPercent: 40,
      memoryUsedBytes: 2_500_000_000,
      gpus: [gpuSampled({ busyPercent, memoryUsedMb: 10_240 }), gpuSampled({ place: 1, powerWatts: null })],
    });
  const report = (...samples: ReturnType<typeof load>[]) => agent.report([seen(id, 'RUNNING')], { samples });

  /** Pixels that are drawn on the chart. */
  const drawn = (page: Page, title: string) =>
    page
      .locator('figure', { hasText: title })
      .locator('canvas')
      .evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((value, index) => index % 4 === 3 && value > 0).length;
      });

  it('is drawn, told in words and in a table, and goes on by itself', async () => {
    await report(...[50, 40, 30, 20, 10, 0].map((age) => load(age, 97)));
    const { page, requests, complaints } = await pages.visit(`/instances/${id}`, await pages.context(owner));
    const section = page.getByRole('region', { name: 'Load' });
    await section.getByRole('button', { name: 'GPU 0 97 %' }).waitFor();
    await section.getByRole('button', { name: 'GPU 1 0 %' }).waitFor();
    await section.getByRole('button', { name: 'CPU 40 %' }).waitFor();
    await section.getByRole('button', { name: 'Memory 2.50 GB' }).waitFor();
    expect(await section.locator('figure').count()).toBe(7);
    const whole = await drawn(page, 'GPU load');
    await section.getByRole('button', { name: 'GPU 0 97 %' }).focus();
    await page.keyboard.press('Enter');
    expect(await section.getByRole('button', { name: 'GPU 0 97 %' }).getAttribute('aria-pressed')).toBe('false');
    await expect.poll(() => drawn(page, 'GPU load'), { timeout: SOON_MS }).toBeLessThan(whole);
    await section.getByText('As a table').click();
    await section.getByRole('columnheader', { name: 'GPU load: GPU 0' }).waitFor();
    await section.getByRole('cell', { name: '10.00 GiB' }).first().waitFor();

    for (const width of [390, 1_400]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await beyondWindow(page), String(width)).toBe(0);
      expect(await faultsIn(page), String(width)).toEqual([]);
      if (PICTURES === undefined) continue;
      mkdirSync(PICTURES, { recursive: true });
      await page.screenshot({ path: `${PICTURES}/load-${width}.png`, fullPage: true });
    }

    // Nobody touches the page.
    await new Promise((resolve) => setTimeout(resolve, 11_000 - (Date.now() % 10_000)));
    await report(load(0, 55));
    await section.getByRole('button', { name: 'GPU 0 55 %' }).waitFor();
    await section.getByRole('link', { name: '2 days' }).click();
    await section.getByRole('button', { name: 'GPU 0 10.00 GiB' }).waitFor();
    expect(page.url()).toContain('range=2d');
    expect(complaints).toEqual([]);
    expect(requests.map((request) => new URL(request.url()).origin)).not.toContainEqual(
      expect.not.stringMatching(gateway.address),
    );

    await page.goto(`${gateway.address}/instances`);
    await page.getByText(/^GPU 2[78] % · CPU 40 %$/).waitFor();
  });
});
