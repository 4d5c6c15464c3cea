import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../src/std/package-root.js';
import { sharedChromium } from '../support/chromium.js';
import { type Service, startService } from '../support/service.js';
import { needs } from '../support/tools.js';

const BUILT = join(PACKAGE_ROOT, 'dist/src/client');

// The page has another origin, like a custom web console, so CORS decides what it can read from a response.
describe('the client in a browser', needs('chromium'), () => {
  let service: Service;
  let pages: Server;
  let browser: Browser;

  beforeAll(async () => {
    service = await startService({ rateLimitPerMinute: 3 });
    pages = createServer(async (request, response) => {
      const script = request.url!.endsWith('.js') ? await readFile(join(BUILT, request.url!)) : null;
      response.setHeader('content-type', script === null ? 'text/html' : 'text/javascript');
      response.end(script ?? '<!doctype html><title>console</title>');
    });
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
    browser = await sharedChromium();
  });
  afterAll(async () => {
    pages?.close();
    await service?.close();
  });

  it('rents machines and throws errors with their request id and retry delay', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const errors: Error[] = [];
    page.on('pageerror', (error) => errors.push(error));
    await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`);
    const machine = await service.machine();
    const { key } = await service.renter();
    const input = JSON.stringify({ baseUrl: `${service.address}/v1`, apiKey: key, machine_id: machine });
    // The code is passed as text, because the test's bundler must not transform it.
    const outcome = await page.evaluate<Record<string, unknown>>(`(async ({ baseUrl, apiKey, machine_id }) => {
      const { createClient } = await import('/index.js');
      const client = createClient({ baseUrl, apiKey, retry: { maxAttempts: 1 } });
      const { status, id } = await client.instances.deploy({ machine_id });
      await client.instances.destroy(id);
      await client.balance.get();
      const { name, code, requestId, retryAfter } = await client.balance.get().catch((error) => error);
      return { status, name, code, requestId, retryAfter };
    })(${input})`);
    expect(errors).toEqual([]);
    expect(outcome).toMatchObject({ status: 'running', name: 'GpuRefusal', code: 'rate_limited' });
    expect(outcome.requestId).toMatch(/^[0-9a-f]{32}$/);
    expect(outcome.retryAfter).toBeGreaterThanOrEqual(1);
    expect(outcome.retryAfter).toBeLessThanOrEqual(60);
    await context.close();
  });
});
