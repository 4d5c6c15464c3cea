import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedChromium } from '../support/chromium.js';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { SOON_MS } from '../support/console/pages.js';
import { requestCaddy, startCaddy, type TestCaddy } from '../support/deploy/caddy.js';
import { freePort } from '../support/free-port.js';
import type { Renter } from '../support/gateway.js';
import { cleanUp, type Env, type GatewayProcess, startProcess } from '../support/process.js';
import { needs } from '../support/tools.js';

/** A renter's browser with two gateways behind Caddy. Terminals need a host and are tested in test/long/console. */
describe('the console behind Caddy, with two gateways', needs('caddy', 'chromium'), () => {
  let here: OpenConsole;
  let caddy: TestCaddy;
  let owner: Renter;
  let ports: number[];
  const gateways: GatewayProcess[] = [];

  const host = () => `${caddy.apiHost}:${caddy.port}`;
  const start = async (at: number) => {
    const env: Env = {
      DATABASE_URL: here.env.DATABASE_URL!,
      RATE_LIMIT_PER_MINUTE: '0',
      PORT: String(ports[at]),
      TRUST_PROXY: '1',
      SERVICE_DOMAIN: caddy.serviceDomain,
      PUBLIC_URL: `https://${host()}`,
      STREAMS_URL: `http://127.0.0.1:${ports[at]}`,
    };
    gateways[at] = await startProcess(env);
  };

  beforeAll(async () => {
    here = await OpenConsole.shared();
    ports = [await freePort(), await freePort()];
    caddy = await startCaddy(ports);
    for (const at of ports.keys()) await start(at);
    owner = await here.renter();
  });
  afterAll(async () => {
    for (const gateway of gateways) await gateway.end();
    await caddy?.end();
    await here?.close();
    await cleanUp();
  });

  it('stays live during gateway restarts and refuses terminals for other origins', async () => {
    const id = await deployed(owner, 'rtx-4090');
    const browser = await sharedChromium();
    const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-US' });
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(SOON_MS);
      await page.goto(`https://${host()}/instances`);
      await page.getByLabel('API key').fill(owner.key);
      await page.keyboard.press('Enter');
      await page.getByText('running', { exact: true }).waitFor();
      await isLive(page);
      const [cookie] = await context.cookies();
      expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Strict' });

      // The page is connected to one gateway, and reconnects to the other once the first has exited.
      for (const [at, [action, shown]] of [
        ['stop', 'stopped'],
        ['start', 'running'],
      ].entries()) {
        expect((await gateways[at]!.end()).code).toBe(0);
        await isLive(page);
        expect((await owner.rest('POST', `/instances/${id}/actions`, { action })).status).toBe(200);
        await page.getByText(shown!, { exact: true }).waitFor();
        if (at === 0) await start(at);
      }

      for (const origin of [
        `http://${host()}`,
        `https://i-00000000.${caddy.serviceDomain}:${caddy.port}`,
        `https://${caddy.apiHost}`,
      ]) {
        const { status } = await requestCaddy(caddy, {
          path: '/console/terminal',
          headers: {
            origin,
            cookie: `${cookie!.name}=${cookie!.value}`,
            connection: 'Upgrade',
            upgrade: 'websocket',
            'sec-websocket-version': '13',
            'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
          },
        });
        expect([origin, status]).toEqual([origin, 403]);
      }
    } finally {
      await context.close();
    }
  });
});

const isLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor();
