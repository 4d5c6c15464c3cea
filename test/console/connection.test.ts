import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { expectSoundInLongRun, figure, SOON_MS, type Visit } from '../support/console/pages.js';
import type { Renter } from '../support/gateway.js';
import { type Env, startProcess } from '../support/process.js';
import { needs } from '../support/tools.js';

const DEAR = 'h100-sxm';
/** Number of checks. It is large enough for a page that doesn't tick to fail most of them. */
const LOOKS = 10;
const MINUTE_MS = 60_000;
/** The page sends about twenty requests, and some of them again when it reconnects. */
const STRICT: Env = { RATE_LIMIT_PER_MINUTE: '60' };

let here: OpenConsole;
let isStrict = false;

const renter = (creditUsd?: string) => here.renter(creditUsd);

/** Restarts the gateway at its previous address. */
async function startAgain(more: Env = {}): Promise<void> {
  here.gateway = await startProcess({ ...here.env, PORT: new URL(here.gateway.address).port, ...more });
  isStrict = more === STRICT;
}

/** The T4's row in the newest price sheet. */
async function newestSheet(): Promise<{ date: string; price: string; listings: number }> {
  const { body } = await (await renter('0')).graphql(
    '{ pricing { marketSnapshot data { slug listings pricePerGpuHour { onDemand } } } }',
  );
  const { marketSnapshot: date, data } = body.data.pricing;
  const { listings, pricePerGpuHour } = data.find(({ slug }: { slug: string }) => slug === 't4');
  return { date, price: pricePerGpuHour.onDemand.toFixed(3), listings };
}

const balanceOf = async (owner: Renter): Promise<number> => (await owner.rest('GET', '/balance')).body.balance;

// The gateway is dedicated to this file: its prices change, and it is stopped, killed and rate-limited.
describe('console pages', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.open();
  });
  afterAll(() => here?.close());

  it('show a model’s only price as text and its price history as a live chart', () =>
    here.pages.with('/machines?gpu=t4', null, async ({ page, complaints }) => {
      const panel = page.getByRole('region', { name: 'NVIDIA Tesla T4' });
      const first = await newestSheet();
      const words = (price: string, date: string, listings: number) =>
        `${price} USD per GPU-hour on demand as of ${date}, from ${listings} listings`;
      await panel.getByText('Price history').click();
      await panel.getByText(`${words(first.price, first.date, first.listings)} (first snapshot).`).waitFor();
      expect(await panel.getByRole('img').count()).toBe(0);

      await here.sql(
        `with snapshot as (insert into market_snapshot (date, published_at) values ('2026-11-21', now()))
         insert into gpu_price (snapshot_date, gpu, on_demand_rate, median_micro, listings)
         select '2026-11-21', gpu, case when gpu = 't4' then 990000 else on_demand_rate end, median_micro,
           case when gpu = 't4' then 77 else listings end
         from gpu_price where snapshot_date = $1`,
        [first.date],
      );
      const summary = `${words('0.990', '2026-11-21', 77)}. First of 2 snapshots: ${first.price} on ${first.date}.`;
      const chart = panel.getByRole('img', { name: summary });
      await chart.waitFor();
      await page.getByText(/^Market prices of 21\sNov\s2026/).waitFor();
      await page
        .getByRole('button', { name: /^NVIDIA Tesla T4 / })
        .getByText('0.99')
        .waitFor();
      const titles = await chart
        .locator('circle title')
        .evaluateAll((all) => all.map(({ textContent }) => textContent));
      expect(titles).toEqual([
        `${first.date}: ${first.price} from ${first.listings} listings`,
        '2026-11-21: 0.990 from 77 listings',
      ]);
      // Higher prices are higher on the chart, and later ones further to the right.
      const [before, after] = await chart
        .locator('circle')
        .evaluateAll((all) => all.map((dot) => [Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]));
      expect(after![0]).toBeGreaterThan(before![0]!);
      expect(after![1]).toBeLessThan(before![1]!);
      await expectSoundInLongRun(page);
      expect(complaints).toEqual([]);
    }));

  it('show the same costs as the service in two tabs, even after one was frozen', async () => {
    const owner = await renter('1000');
    // The instance costs about half a cent per second, so a lag of two seconds is visible.
    for (let count = 0; count < 8; count += 1) await deployed(owner, DEAR);
    const context = await here.pages.context(owner);
    const tabs = [await here.pages.visit('/', context), await here.pages.visit('/', context)];
    for (const { page } of tabs) await page.locator('[data-figure="balance"]').waitFor();
    /** Compares amounts to the cent, regardless of the second in which the query arrives. */
    const isEqual = async ({ page }: Visit): Promise<boolean> => {
      const before = await balanceOf(owner);
      const shown = await figure(page, 'balance');
      return shown <= before + 0.01 && shown >= (await balanceOf(owner)) - 0.01;
    };
    const first = await balanceOf(owner);
    // This simulates a closed laptop.
    const [, closed] = tabs as [Visit, Visit];
    const lid = await context.newCDPSession(closed.page);
    await lid.send('Page.setWebLifecycleState', { state: 'frozen' });
    await expect.poll(() => balanceOf(owner), { timeout: SOON_MS, interval: 1_000 }).toBeLessThan(first - 0.03);
    await lid.send('Page.setWebLifecycleState', { state: 'active' });
    await expect.poll(() => isEqual(closed), { timeout: SOON_MS }).toBe(true);

    let wrong = 0;
    for (let look = 0; look < LOOKS; look += 1) {
      const before = await balanceOf(owner);
      await expect.poll(() => balanceOf(owner), { timeout: SOON_MS, interval: 500 }).toBeLessThan(before);
      for (const tab of tabs) if (!(await isEqual(tab))) wrong += 1;
    }
    // A busy machine draws late, but a page that doesn't tick is wrong in most checks.
    expect(wrong, `${wrong} of ${2 * LOOKS} looks`).toBeLessThanOrEqual(LOOKS);
    const settles = tabs
      .flatMap(({ requests }) => requests)
      .filter((request) => /query Settle/.test(request.postData() ?? ''));
    // Between two responses, the tabs count on their own instead of querying again.
    expect(settles.length).toBeLessThanOrEqual(9);
    expect(first - (await figure(tabs[0]!.page, 'balance'))).toBeGreaterThan(0.06);
    expect(tabs.flatMap((tab) => tab.complaints)).toEqual([]);
    await context.close();
  });

  it('warn that the computer’s clock is wrong and use the service’s clock', async () => {
    const owner = await renter();
    const context = await here.pages.context(owner);
    await context.addInitScript(() => {
      const ahead = 180_000;
      const now = Date.now.bind(Date);
      Date.now = () => now() + ahead;
    });
    const { page } = await here.pages.visit('/billing', context);
    await page.getByText(/This computer’s clock is 3\smin(\s\d+\ss)? fast/).waitFor();
    expect(await figure(page, 'balance')).toBe(100);
    await context.close();
  });

  it(
    'report that the gateway is down and resume once it is up again',
    async () => {
      const owner = await renter();
      const id = await deployed(owner, 'rtx-5090');
      await here.pages.with('/instances', owner, async ({ page }) => {
        const navigation = page.getByRole('navigation');
        const unanswered = page.getByText('The service isn’t responding');
        await page.getByText('running', { exact: true }).waitFor();
        await page.getByText('Live', { exact: true }).waitFor();
        // Data that couldn't be read offline is read once the browser is online, although no stream was lost.
        await page.context().setOffline(true);
        await page.getByText('No connection to the service').waitFor();
        await navigation.getByRole('link', { name: 'Billing' }).click();
        await unanswered.first().waitFor();
        // The code of a screen that hasn't been shown yet can't be loaded either.
        await navigation.getByRole('link', { name: 'Volumes' }).click();
        await page.getByText('This part of the page couldn’t be loaded').waitFor();
        await page.context().setOffline(false);
        await page.getByText('Live', { exact: true }).waitFor();
        await page.getByRole('heading', { level: 1, name: 'Volumes' }).waitFor();
        await navigation.getByRole('link', { name: 'Billing' }).click();
        await page.getByRole('row', { name: /^Opening balance/ }).waitFor();
        // Each part of the screen retries automatically.
        await expect.poll(() => unanswered.count(), { timeout: SOON_MS }).toBe(0);
        await navigation.getByRole('link', { name: 'Instances' }).click();
        await page.getByText('running', { exact: true }).waitFor();
        await here.gateway.kill();
        await page.getByText('No connection to the service').waitFor();
        await page.getByRole('link', { name: id }).waitFor();
        // The data of such a screen is read once the gateway is up again.
        await page.getByRole('link', { name: 'Billing' }).click();
        await unanswered.first().waitFor();
        await startAgain();
        await page.getByText('Live', { exact: true }).waitFor();
        await page.getByRole('row', { name: /^Opening balance/ }).waitFor();
        await unanswered.first().waitFor({ state: 'detached' });
        await navigation.getByRole('link', { name: 'Instances' }).click();
        await owner.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
        await page.getByText('stopped', { exact: true }).waitFor();
        const ended = here.gateway.end();
        await page.getByText('The service is restarting').waitFor();
        await ended;
        await startAgain(STRICT);
        await page.getByText('Live', { exact: true }).waitFor();
      });
    },
    5 * MINUTE_MS,
  );

  it(
    'report that the account exceeded its rate limit and resume automatically',
    async () => {
      if (!isStrict) {
        await here.gateway.end();
        await startAgain(STRICT);
      }
      const owner = await renter();
      const context = await here.pages.context(owner);
      for (let count = 0; count < Number(STRICT.RATE_LIMIT_PER_MINUTE); count += 1) await balanceOf(owner);
      const page = await context.newPage();
      await page.goto(`${here.gateway.address}/billing`);
      const line = page.locator('.status-line');
      await line.getByText(/exceeded its rate limit/).waitFor({ timeout: SOON_MS });
      const secondsLeft = async () => {
        const { status, headers } = await owner.rest('GET', '/balance');
        expect(status).toBe(429);
        return Number(headers.get('retry-after'));
      };
      const most = await secondsLeft();
      const shown = Number(/ in (\d+) s\./.exec(await line.innerText())?.[1]);
      expect(shown).toBeLessThanOrEqual(most + 3);
      expect(shown).toBeGreaterThanOrEqual((await secondsLeft()) - 3);
      await page.locator('[data-figure="balance"]').waitFor({ timeout: 2 * MINUTE_MS });
      await page.getByRole('row', { name: /^Opening balance/ }).waitFor({ timeout: 2 * MINUTE_MS });
      await page.getByText('Live', { exact: true }).waitFor({ timeout: MINUTE_MS });
      // Each part of the page retries automatically at slightly different times.
      await expect.poll(() => page.getByText('too many requests').count(), { timeout: MINUTE_MS }).toBe(0);
      await context.close();
    },
    5 * MINUTE_MS,
  );
});
