import type { Browser, BrowserContext, Page, WebSocket } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedChromium } from '../../support/chromium.js';
import { isOfMachine } from '../../support/console/pages.js';
import { createTestDatabase } from '../../support/database.js';
import { startCaddy, type TestCaddy } from '../../support/deploy/caddy.js';
import { freePort } from '../../support/free-port.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { RealFleet, type RealRenter } from '../../support/hosts/real-fleet.js';
import { type GatewayProcess, query, startProcess } from '../../support/process.js';
import { until } from '../../support/until.js';

const SOON_MS = 60_000;
const MOST_CLICKS = 6;
/** Matches the end of a prompt. The rest of a prompt depends on the renter's shell. */
const PROMPT = /[#$] ?$/;
/** A rise in load, in percent, that exceeds the noise of a busy computer. */
const RISES_BY_PERCENT = 5;

/**
 * A visitor becomes a renter in one browser, with two gateways behind Caddy and a real container on a host with
 * simulated GPUs, whose load the agent derives from the processors. Each test continues where the previous one ended.
 */
describe('the console behind Caddy, with two gateways', needsEngine('podman', 'caddy', 'chromium'), () => {
  let caddy: TestCaddy;
  let fleet: RealFleet;
  let second: GatewayProcess;
  let secondEnv: Record<string, string>;
  let renter: RealRenter;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let clicks = 0;
  const complaints: string[] = [];
  const output = new ShellOutput();

  const host = () => `${caddy.apiHost}:${caddy.port}`;

  beforeAll(async () => {
    const [databaseUrl, ...ports] = await Promise.all([createTestDatabase(), freePort(), freePort()]);
    // The demo's machines are taken off the market, because the real machine must be rented.
    await query(databaseUrl, 'update machine set sold = false where demo');
    [caddy, browser] = await Promise.all([startCaddy(ports), sharedChromium()]);
    const env = (port: number) => ({
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      TRUST_PROXY: '1',
      SERVICE_DOMAIN: caddy.serviceDomain,
      PUBLIC_URL: `https://${host()}`,
      STREAMS_URL: `http://127.0.0.1:${port}`,
    });
    fleet = await RealFleet.open(env(ports[0]!));
    secondEnv = { RATE_LIMIT_PER_MINUTE: '0', ...env(ports[1]!) };
    second = await startProcess(secondEnv);
    await fleet.host();
    renter = await fleet.renter();
    context = await browser.newContext({
      ignoreHTTPSErrors: true,
      viewport: { width: 1_400, height: 900 },
      locale: 'en-US',
    });
    await context.exposeFunction('wasPressed', () => {
      clicks += 1;
    });
    await context.addInitScript(() => {
      const { wasPressed } = window as unknown as { wasPressed(): void };
      addEventListener('pointerdown', ({ isTrusted }) => isTrusted && wasPressed(), true);
    });
    page = await context.newPage();
    page.setDefaultTimeout(SOON_MS);
    page.on('console', (message) => {
      if (message.type() === 'error' && !isOfMachine(message.text())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('websocket', (socket) => output.follow(socket));
  });
  afterAll(async () => {
    await context?.close();
    await second?.end();
    await fleet?.close();
    await caddy?.end();
  });

  const rows = async (): Promise<string> => {
    const texts = await page.locator('.xterm-rows > div').allInnerTexts();
    return texts
      .map((text) => text.replaceAll('\u00a0', ' ').trimEnd())
      .join('\n')
      .trimEnd();
  };
  const sees = (words: RegExp) =>
    until(`${words} is on the screen`, async () => words.test(await rows()), SOON_MS).catch(async (error) => {
      throw new Error(`${error.message}, but:\n${await rows()}\n${await page.locator('main').innerText()}`);
    });
  const enter = async (line: string) => {
    await page.keyboard.type(line);
    await page.keyboard.press('Enter');
  };

  it(`takes at most ${MOST_CLICKS} clicks from its first screen to a prompt`, async () => {
    const began = performance.now();
    await page.goto(`https://${host()}/`);
    await page.getByRole('link', { name: 'Deploy NVIDIA GeForce RTX 4090' }).click();
    await page.getByRole('radio', { name: /^busybox/ }).click();
    await page.getByRole('link', { name: 'Sign in to deploy' }).click();
    await page.getByLabel('API key').fill(renter.api.key);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Deploy for/ }).click();
    await page.getByRole('link', { name: 'Terminal', exact: true }).click();
    await sees(PROMPT);
    const seconds = (performance.now() - began) / 1_000;
    // The terminal has the focus, so typing needs no further click.
    await enter('echo in""side');
    await sees(/\ninside\n/);
    console.info(`from the first sight to a prompt: ${clicks} clicks, ${seconds.toFixed(1)} s`);
    expect(clicks).toBeGreaterThan(0);
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);
    expect(complaints).toEqual([]);
  });

  it('keeps a shell while gateways restart, without lost or repeated output', async () => {
    await enter('mine=ke""pt; i=0; clear; while :; do echo line $i; i=$((i+1)); sleep 0.05; done');
    await sees(/line \d+\n/);
    const lines = () => [...output.text.matchAll(/line (\d+)\r\n/g)].map(([, number]) => Number(number));
    const goesOn = async () => {
      const before = lines().length;
      await until('more lines come', () => lines().length > before + 20, SOON_MS);
    };
    const connections = output.opened;
    const restartSecond = async () => {
      expect((await second.end()).code).toBe(0);
      second = await startProcess(secondEnv);
    };
    const restartFirst = async () => {
      const pid = fleet.gatewayPid;
      process.kill(pid, 'SIGTERM');
      await until('it has ended', () => !isThere(pid), SOON_MS);
      await fleet.startGateway();
    };
    // The page is connected to one of the gateways.
    for (const restart of [restartFirst, restartSecond]) {
      await goesOn();
      await restart();
      await goesOn();
    }
    await page.keyboard.press('Control+c');
    await sees(PROMPT);
    await enter('echo $mine and $i');
    await sees(/\nkept and \d+\n/);
    const count = Number(/kept and (\d+)/.exec(await rows())![1]);
    expect(output.opened).toBeGreaterThan(connections);
    expect(output.faults).toEqual([]);
    expect(lines()).toEqual(Array.from({ length: lines().length }, (_, index) => index));
    // The interrupt may cut off the last line.
    expect(Math.abs(lines().length - count)).toBeLessThanOrEqual(1);
    const shown = (await rows()).split('\n').flatMap((row) => /^line (\d+)$/.exec(row)?.[1] ?? []);
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.map(Number)).toEqual(shown.map((_, index) => Number(shown[0]) + index));
    console.info(`${lines().length} lines over ${output.opened - connections} new connections`);
  });

  it("charts a training run's load soon after it starts, without a reload", async () => {
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    const table = page.getByRole('region', { name: 'Load as a table' });
    await page.getByText('Show as table').click();
    /** The newest sample comes first. */
    const percents = async () => {
      const name = await table.getByRole('columnheader').allInnerTexts();
      const at = name.findIndex((each) => /^GPU load/.test(each));
      const cells = await table.locator(`tbody tr > :nth-child(${at + 1})`).allInnerTexts();
      return cells.map((text) => Number.parseFloat(text));
    };
    const idle = await until(
      'it was measured',
      async () => {
        const known = (await percents()).filter(Number.isFinite);
        return known.length > 0 && { least: Math.min(...known) };
      },
      SOON_MS,
    ).then((known) => (known as { least: number }).least);
    await page.getByRole('link', { name: 'Terminal', exact: true }).click();
    await sees(PROMPT);
    // It is ended below, because it must not outlive the test.
    await enter('for each in 1 2; do timeout 240 sh -c "while :; do :; done" & done; echo be""gun');
    await sees(/\nbegun\n/);
    const began = performance.now();
    await page.getByRole('link', { name: 'Overview', exact: true }).click();
    await page.getByText('Show as table').click();
    const busy = await until(
      `the load rises above ${idle} %`,
      async () => (await percents()).slice(0, 1).find((each) => each >= idle + RISES_BY_PERCENT),
      SOON_MS,
    ).catch(async (error) => {
      throw new Error(`${error.message}, but: ${await table.locator('tbody').innerText()}`);
    });
    const seconds = (performance.now() - began) / 1_000;
    console.info(`a load rose from ${idle} % to ${busy} % in the chart after ${seconds.toFixed(1)} s`);
    // The same figure is next to the chart, as text.
    await page
      .getByRole('button', { name: /^GPU (load )?\d/ })
      .first()
      .waitFor();
    await page.getByRole('link', { name: 'Terminal', exact: true }).click();
    await enter('kill %1 %2; clear');
  });
});

/**
 * The output that a page received from its shell, assembled from all of its connections by the positions that the
 * service reports.
 */
class ShellOutput {
  text = '';
  /** Number of connections that opened the shell. */
  opened = 0;
  /** Number of connections that didn't continue exactly where the previous one ended. */
  readonly faults: string[] = [];
  #place = 0;

  follow(socket: WebSocket): void {
    if (!socket.url().endsWith('/console/terminal')) return;
    socket.on('framereceived', ({ payload }) => {
      if (typeof payload !== 'string') {
        this.#place += payload.length;
        this.text += payload.toString('latin1');
        return;
      }
      const words = JSON.parse(payload);
      if (words.type !== 'opened') return;
      this.opened += 1;
      if (words.from !== this.#place) this.faults.push(`from ${words.from} after ${this.#place}`);
      this.#place = words.from;
    });
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
