import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpuSampled, hardware, sampled, seen } from '../support/agent.js';
import { OpenConsole } from '../support/console/open-console.js';
import { expectSound, SOON_MS } from '../support/console/pages.js';
import type { Renter } from '../support/gateway.js';
import { needs } from '../support/tools.js';
import type { WireAgent } from '../support/wire-agent.js';

describe("an instance's load in Chromium", needs('chromium'), () => {
  let here: OpenConsole;
  let owner: Renter;
  let agent: WireAgent;
  /** An instance on a machine with two GPUs. */
  let id: string;

  beforeAll(async () => {
    here = await OpenConsole.shared();
    owner = await here.renter();
    const gpu = hardware().gpus[0]!;
    ({ agent, id } = await here.rented(owner, { gpus: [gpu, { ...gpu, index: 1, uuid: 'GPU-2' }] }));
    await agent.desired();
  });
  afterAll(() => here?.close());

  const load = (age: number, busyPercent: number) =>
    sampled(id, {
      age,
      cpuPercent: 40,
      memoryUsedBytes: 2_500_000_000,
      gpus: [gpuSampled({ busyPercent, memoryUsedMb: 10_240 }), gpuSampled({ place: 1, powerWatts: null })],
    });
  const report = (...samples: ReturnType<typeof load>[]) => agent.report([seen(id, 'RUNNING')], { samples });

  /** Returns the number of pixels that the chart's lines cover. Its grid and its texts are grey. */
  const drawn = (page: Page, title: string) =>
    page
      .locator('figure', { hasText: title })
      .locator('canvas')
      .evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let at = 0; at < data.length; at += 4) {
          const [red, green, blue] = data.subarray(at, at + 3);
          if (Math.max(red!, green!, blue!) - Math.min(red!, green!, blue!) > 64) count += 1;
        }
        return count;
      });

  it('is shown as a chart, as text and as a table, and updates automatically', async () => {
    await report(...[50, 40, 30, 20, 10, 0].map((age) => load(age, 97)));
    const { page, requests, complaints } = await here.pages.visit(`/instances/${id}`, await here.pages.context(owner));
    const section = page.getByRole('region', { name: 'Load' });
    await section.getByRole('button', { name: 'GPU 0 97%' }).waitFor();
    await section.getByRole('button', { name: 'GPU 1 0%' }).waitFor();
    await section.locator('figure', { hasText: 'CPU' }).getByText('40%').waitFor();
    await section.locator('figure', { hasText: 'GPU memory' }).getByRole('button', { name: 'GPU 0 10.0 GB' }).waitFor();
    expect(await section.locator('figure').count()).toBe(7);
    // The first four charts are shown, and the others are folded.
    await section.getByText('More charts and table').click();
    await section
      .locator('figure', { hasText: /^Memory/ })
      .getByText('2.5 GB')
      .waitFor();
    // The lines are drawn after the texts.
    let whole = 0;
    await expect.poll(async () => (whole = await drawn(page, 'GPU load')), { timeout: SOON_MS }).toBeGreaterThan(0);
    await section.getByRole('button', { name: 'GPU 0 97%' }).focus();
    await page.keyboard.press('Enter');
    expect(await section.getByRole('button', { name: 'GPU 0 97%' }).getAttribute('aria-pressed')).toBe('false');
    await expect.poll(() => drawn(page, 'GPU load'), { timeout: SOON_MS }).toBeLessThan(whole);
    await section.getByRole('columnheader', { name: 'GPU load: GPU 0' }).waitFor();
    await section.getByRole('cell', { name: '10.0 GB' }).first().waitFor();

    await expectSound(page);

    // The update needs no input to the page.
    await new Promise((resolve) => setTimeout(resolve, 11_000 - (Date.now() % 10_000)));
    await report(load(0, 55));
    await section.getByRole('button', { name: 'GPU 0 55%' }).waitFor();
    await section.getByRole('link', { name: '2 d', exact: true }).click();
    await section.getByRole('button', { name: 'GPU 0 10.0 GB' }).waitFor();
    expect(page.url()).toContain('range=2d');
    expect(complaints).toEqual([]);
    expect(requests.map((request) => new URL(request.url()).origin)).not.toContainEqual(
      expect.not.stringMatching(here.gateway.address),
    );

    await page.goto(`${here.gateway.address}/instances`);
    await page
      .getByTitle(/^GPU 2[78]% · CPU 40%$/)
      .getByText(/2[78]%/)
      .waitFor();
  });
});
