import { readFile } from 'node:fs/promises';
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.js';
import { creditAccount } from '../../src/domain/accounts/accounts.js';
import { createDeps, type Deps } from '../../src/domain/deps.js';
import { enrol } from '../../src/domain/fleet/enrolment.js';
import { systemClock } from '../../src/system-clock.js';
import { seen } from '../support/agent.js';
import { openChromium } from '../support/chromium.js';
import { gpu } from '../support/cli/gpu.js';
import { testSettings } from '../support/clock.js';
import { faultsIn, Pages, SOON_MS, type Visit } from '../support/console/pages.js';
import { createTestDatabase } from '../support/database.js';
import { createRenter, type Renter } from '../support/gateway.js';
import { cleanUp, type Env, folder, type GatewayProcess, query, startProcess } from '../support/process.js';
import { newSshKey } from '../support/ssh-key.js';
import { needs } from '../support/tools.js';
import { WireAgent } from '../support/wire-agent.js';

/** Markup, and characters that would turn the direction of text or begin a terminal's command. */
const BOLD = '<b>bold</b>';
const XSS = '<img src=x onerror="window.pwned=1">\u202e\u009b';
const SEEN = `${XSS.slice(0, -2)}\\u202e\\u009b`;
const DEAR = 'h100-sxm';
/** With the 8 s of a pause: what is left is long enough for a page that does not tick to be wrong in most looks. */
const TICKING_MS = 20_000;
const MINUTE_MS = 60_000;

let browser: Browser;
let gateway: GatewayProcess;
let env: Env;
let db: Database;
let deps: Deps;
let ticking: ReturnType<typeof lookAtTicking>;
let limited: ReturnType<typeof lookAtLimited>;

let pages: Pages;

/**
 * Looks for a while, beside the other tests, at the balance that two tabs show, one of which stands still for a while.
 */
async function lookAtTicking() {
  const owner = await renter('1000');
  // About half a cent a second: a lag of two seconds is seen.
  for (let count = 0; count < 8; count += 1) await deployed(owner, DEAR);
  const context = await pages.context(owner);
  const tabs = [await pages.visit('/money', context), await pages.visit('/money', context)];
  for (const { page } of tabs) await page.locator('[data-figure="balance"]').waitFor();
  const balance = async (): Promise<number> => (await owner.rest('GET', '/balance')).body.balance;
  /** To the cent, whichever second the service was asked in. */
  const isEqual = async ({ page }: Visit): Promise<boolean> => {
    const before = await balance();
    const shown = await figure(page, 'balance');
    return shown <= before + 0.01 && shown >= (await balance()) - 0.01;
  };
  const first = await balance();
  const startedAt = performance.now();

  // A page that is frozen, as by a laptop that is closed: it goes on right by itself.
  const [, closed] = tabs as [Visit, Visit];
  const lid = await context.newCDPSession(closed.page);
  await lid.send('Page.setWebLifecycleState', { state: 'frozen' });
  await new Promise((resolve) => setTimeout(resolve, 8_000));
  await lid.send('Page.setWebLifecycleState', { state: 'active' });
  await expect.poll(() => isEqual(closed), { timeout: SOON_MS }).toBe(true);

  let [looks, wrong] = [0, 0];
  while (performance.now() - startedAt < TICKING_MS) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (const tab of tabs) if (!(await isEqual(tab))) wrong += 1;
    looks += tabs.length;
  }
  const settles = tabs
    .flatMap(({ requests }) => requests)
    .filter((request) => /query Settle/.test(request.postData() ?? ''));
  const complaints = tabs.flatMap((tab) => tab.complaints);
  const fell = first - (await figure(tabs[0]!.page, 'balance'));
  await context.close();
  return { wrong, looks, fell, settles: settles.length, complaints };
}

/** Looks, as long as it takes, at what an account sees that has asked more than it may within a minute. */
async function lookAtLimited() {
  // The page asks a dozen questions, some of them twice when it is back.
  const perMinute = 30;
  const strict = await startProcess({ DATABASE_URL: env.DATABASE_URL!, RATE_LIMIT_PER_MINUTE: String(perMinute) });
  const owner = await createRenter(deps, strict.address, '100');
  const context = await new Pages(browser, strict.address).context(owner);
  for (let count = 0; count < perMinute; count += 1) await owner.rest('GET', '/balance');
  const page = await context.newPage();
  await page.goto(`${strict.address}/money`);
  const said = page.locator('.status-line').getByText(/asked more than it may/);
  await said.waitFor({ timeout: SOON_MS });
  const refusal = await owner.rest('GET', '/balance');
  const text = await page.locator('.status-line').innerText();
  const shown = Number(/ in (\d+) s\./.exec(text)?.[1]);
  const behind = Math.abs(shown - Number(refusal.headers.get('retry-after')));
  // Nobody does anything: it goes on once the minute is over.
  await page.locator('[data-figure="balance"]').waitFor({ timeout: 2 * MINUTE_MS });
  await page.getByRole('row', { name: /^Opening balance/ }).waitFor({ timeout: MINUTE_MS });
  await page.getByText('Live', { exact: true }).waitFor({ timeout: MINUTE_MS });
  // Each part of the page asks again by itself, one a moment after the other.
  const said429 = page.getByText('Too many requests');
  await expect.poll(() => said429.count(), { timeout: MINUTE_MS }).toBe(0);
  const notices = await said429.count();
  await context.close();
  await strict.end();
  return { refused: refusal.status, isCounted: behind <= 3, notices };
}

const renter = (creditUsd = '100') => createRenter(deps, gateway.address, creditUsd);

async function deployed(owner: Renter, model: string): Promise<string> {
  const { body } = await owner.graphql('mutation ($gpus: [String!]) { deployBest(input: { gpus: $gpus }) { id } }', {
    gpus: [model],
  });
  return body.data.deployBest.id;
}

/** What the newest sheet says of the T4. */
async function newestSheet(): Promise<{ date: string; price: string; listings: number }> {
  const { body } = await (await renter('0')).graphql(
    '{ pricing { marketSnapshot data { slug listings pricePerGpuHour { onDemand } } } }',
  );
  const { marketSnapshot: date, data } = body.data.pricing;
  const { listings, pricePerGpuHour } = data.find(({ slug }: { slug: string }) => slug === 't4');
  return { date, price: pricePerGpuHour.onDemand.toFixed(2), listings };
}

/** The cheapest machine of a model with one GPU: each test rents its own model, so that none takes another's. */
async function cheapest(model: string): Promise<string> {
  const { body } = await (await renter('0')).rest('GET', `/offers?gpu=${model}&limit=1`);
  return body.data[0].machine_id;
}

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });
const figure = async (page: Page, name: string): Promise<number> =>
  Number((await page.locator(`[data-figure="${name}"]`).innerText()).replace(/[^\d.−]/g, '').replace('−', '-'));

describe('the console in Chromium', needs('chromium'), () => {
  beforeAll(async () => {
    const databaseUrl = await createTestDatabase();
    db = openDatabase(databaseUrl);
    deps = createDeps(db, systemClock, testSettings());
    env = { DATABASE_URL: databaseUrl, RATE_LIMIT_PER_MINUTE: '0', SIGNUP: 'open' };
    gateway = await startProcess(env);
    // The next one listens where this one did.
    env.PORT = new URL(gateway.address).port;
    browser = await openChromium();
    pages = new Pages(browser, gateway.address);
    ticking = lookAtTicking();
    ticking.catch(() => {});
    limited = lookAtLimited();
    limited.catch(() => {});
  });
  afterAll(async () => {
    await pages?.close();
    await browser?.close();
    await gateway?.end();
    await db?.close();
    await cleanUp();
  });

  describe('without a key', () => {
    it('shows prices and what is free at a first visit, in few requests and bytes and from its own origin', async () => {
      const context = await pages.context(null);
      const page = await context.newPage();
      const requests: Request[] = [];
      page.on('request', (request) => requests.push(request));
      await page.goto(gateway.address, { waitUntil: 'commit' });
      await page.getByRole('row', { name: /NVIDIA H100 SXM5/ }).waitFor();
      await page
        .getByRole('link', { name: /: \d+ GPUs free$/ })
        .first()
        .waitFor();

      expect(requests.filter((request) => new URL(request.url()).origin !== gateway.address)).toEqual([]);
      // Chromium asks for the icon once or twice.
      const urls = requests.map((request) => request.url()).filter((url) => !url.endsWith('/icon.svg'));
      expect(urls.length, urls.join('\n')).toBeLessThanOrEqual(13);
      const sized = requests.filter((request) => /\.(js|css|svg)$|\/$/.test(request.url()));
      const sizes = await Promise.all(sized.map((request) => request.sizes()));
      const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
      expect(bytes).toBeGreaterThan(10_000);
      expect(bytes).toBeLessThanOrEqual(85_000);
      await context.close();
    });

    it('names at first sight what the API names: three prices, what is free and where, and rents with one click', () =>
      pages.with('/', null, async ({ page, complaints }) => {
        const asker = await renter('0');
        const asked = async () => {
          const query = `{
            offerSearch(first: 1) { totalCount regions { region gpus } }
            pricing { data { slug name tier availableGpus pricePerGpuHour { onDemand } } }
            regions { code name }
          }`;
          return (await asker.graphql(query)).body.data;
        };
        const { pricing, regions, offerSearch } = await asked();
        type Priced = {
          slug: string;
          name: string;
          tier: string;
          availableGpus: number;
          pricePerGpuHour: { onDemand: number };
        };
        const cards = page.getByRole('list', { name: 'Prices' }).getByRole('listitem');
        await cards.first().waitFor();
        const shown = await cards.allInnerTexts();
        const tiers = ['FLAGSHIP', 'DATACENTER', 'CONSUMER_FLAGSHIP'];
        const slugs: string[] = [];
        expect(shown).toHaveLength(tiers.length);
        for (const [place, tier] of tiers.entries()) {
          const text = shown[place]!;
          const model = pricing.data.find((each: Priced) => text.startsWith(`${each.name}\n`));
          expect(model.tier).toBe(tier);
          slugs.push(model.slug);
          expect(text).toContain(`${model.pricePerGpuHour.onDemand.toFixed(2)} USD per GPU-hour`);
        }
        const links = page.getByRole('link', { name: /: \d+ GPUs? free$/ });
        await expect.poll(() => links.count(), { timeout: SOON_MS }).toBe(offerSearch.regions.length);
        const named = async () => {
          const free = (await asked()).offerSearch.regions.find(({ region }: { region: string }) => region === 'us-tx');
          const name = regions.find(({ code }: { code: string }) => code === 'us-tx').name;
          return page.getByRole('link', { name: `${name}: ${free.gpus} GPUs free` }).count();
        };
        // Other tests rent meanwhile.
        await expect.poll(named, { timeout: SOON_MS }).toBe(1);
        await cards
          .nth(2)
          .getByRole('link', { name: /^Rent NVIDIA/ })
          .click();
        await page.getByRole('heading', { name: /^Rent the best that fits:/ }).waitFor();
        const { pathname, search } = new URL(page.url());
        expect(pathname + search).toBe(`/deploy?gpu=${slugs[2]}`);
        expect(complaints).toEqual([]);
      }));

    it('leads from an address of before to the machines that it means', () =>
      pages.with('/?gpu=rtx-4090&gpus=2', null, async ({ page }) => {
        await page.getByRole('heading', { name: /^[\d,]+ machines to rent now/ }).waitFor();
        const { pathname, search } = new URL(page.url());
        expect(pathname + search).toBe('/machines?gpu=rtx-4090&gpus=2');
      }));

    it('begins with what most people come for, and keeps searches by name', () =>
      pages.with('/machines', null, async ({ page, complaints }) => {
        const rows = page.locator('.offer');
        await rows.first().waitFor();
        const owner = await renter();
        const { body } = await owner.graphql(
          `{ offerSearch(filter: { tiers: [FLAGSHIP] }, sort: PRICE_PER_GPU, first: 1) { edges { node { machineId } } }
             pricing { data { slug tier availableGpus gpuModel { memoryBandwidth } } } }`,
        );
        await rows.first().getByText(body.data.offerSearch.edges[0].node.machineId).first().waitFor();
        // Others rent meanwhile.
        const isCounted = async () => {
          const { totalCount } = (await owner.graphql('{ offerSearch(first: 1) { totalCount } }')).body.data
            .offerSearch;
          return page.getByRole('heading', { name: `${totalCount.toLocaleString('en')} machines to rent now` }).count();
        };
        await expect.poll(isCounted, { timeout: SOON_MS }).toBe(1);
        const popular = page.getByRole('list', { name: 'Models with the most free GPUs' });
        const free = body.data.pricing.data.filter(({ tier }: { tier: string }) => tier === 'FLAGSHIP');
        const [most] = free.toSorted(
          (one: { availableGpus: number }, other: { availableGpus: number }) => other.availableGpus - one.availableGpus,
        );
        await popular.getByRole('link').first().click();
        expect(new URL(page.url()).search).toBe(`?gpu=${most.slug}`);
        // What a maker publishes for its model, times the GPUs of the machine.
        const ofOneGpu = async () => {
          const [, gpus] = /^\s*(\d+) ×/.exec(await rows.first().innerText())!;
          const speed = await rows.first().locator('[data-label="GB/s"]').textContent();
          return Number(speed!.replaceAll(',', '')) / Number(gpus);
        };
        // The machines of before stand until those of the search are there.
        await expect.poll(ofOneGpu, { timeout: SOON_MS }).toBe(most.gpuModel.memoryBandwidth);

        const saved = page.getByRole('region', { name: 'Saved searches' });
        await saved.getByRole('button', { name: 'Save this search' }).click();
        await page.keyboard.type(BOLD);
        await page.keyboard.press('Enter');
        await saved.getByRole('link', { name: BOLD }).waitFor();
        await page.goto(`${gateway.address}/machines?region=us-tx&sort=VRAM`);
        await saved.getByRole('button', { name: 'Save this search' }).click();
        await page.keyboard.type('texas');
        await page.keyboard.press('Enter');
        await saved.getByRole('button', { name: 'Edit' }).click();
        await saved.getByRole('button', { name: 'Rename texas' }).click();
        await page.getByLabel('Rename texas').fill('large in Texas');
        await page.keyboard.press('Enter');
        await saved.getByRole('button', { name: `Delete ${BOLD}` }).click();
        await saved.getByRole('button', { name: 'Done' }).click();
        await page.reload();
        await saved.getByRole('link', { name: 'large in Texas' }).waitFor();
        expect(await saved.getByRole('link').count()).toBe(1);
        expect(await faultsIn(page)).toEqual([]);
        await page.goto(`${gateway.address}/machines`);
        await rows.first().waitFor();
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'What are you looking for?' }).waitFor();
        await page.keyboard.type('large in');
        await page.keyboard.press('Enter');
        await expect.poll(() => new URL(page.url()).search, { timeout: SOON_MS }).toBe('?region=us-tx&sort=VRAM');
        expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
        expect(complaints).toEqual([]);
      }));

    it('sorts by each column as it says, and compares what is ticked, all in the address', () =>
      pages.with('/machines?gpu=h100-sxm,h100-pcie', null, async ({ page, complaints }) => {
        const column = async (name: string) => {
          // Those far below are not drawn.
          const texts = await page.locator(`.offer [data-label="${name}"]`).allTextContents();
          return texts.map((text) => Number(text.replaceAll(/[^\d.]/g, '')));
        };
        await page.locator('.offer').first().waitFor();
        for (const [name, address, rises] of [
          ['USD/GPU-h', 'PRICE_PER_GPU', true],
          ['Reliable', 'RELIABILITY', false],
          ['VRAM', 'VRAM', false],
          ['GB/s', 'BANDWIDTH', false],
          ['Mbit/s in', 'NETWORK', false],
        ] as const) {
          await page.getByRole('columnheader', { name }).getByRole('button').click();
          expect(new URL(page.url()).searchParams.get('sort')).toBe(address);
          const isSorted = async () => {
            const figures = await column(name);
            return (
              figures.length > 1 &&
              figures.every(
                (figure, at) => at === 0 || (rises ? figure >= figures[at - 1]! : figure <= figures[at - 1]!),
              )
            );
          };
          await expect.poll(isSorted, { timeout: SOON_MS }).toBe(true);
          expect(await page.getByRole('columnheader', { name }).getAttribute('aria-sort')).toBe(
            rises ? 'ascending' : 'descending',
          );
        }
        const ticks = page.getByRole('checkbox', { name: /^Compare m-/ });
        for (const place of [0, 1, 2, 3]) await ticks.nth(place).check();
        expect(await ticks.nth(4).isDisabled()).toBe(true);
        const ids = new URL(page.url()).searchParams.get('compare')!.split(',');
        expect(ids).toHaveLength(4);
        await page.reload();
        const compared = page.getByRole('region', { name: 'Compare', exact: true });
        for (const id of ids) await compared.getByRole('button', { name: `Remove ${id}` }).waitFor();
        await compared.getByRole('button', { name: `Remove ${ids[0]}` }).click();
        await compared.getByRole('link', { name: `Rent ${ids[1]}` }).click();
        await page.getByRole('heading', { level: 1, name: /^Rent / }).waitFor();
        expect(new URL(page.url()).searchParams.get('machine')).toBe(ids[1]);
        expect(complaints).toEqual([]);
      }));

    it('keeps what is looked for in the address, and finds what the API finds', () =>
      pages.with('/machines', null, async ({ page, complaints }) => {
        await page.getByText(/No minimum, except 60\s+seconds of GPU/).waitFor();
        // By Tab the machines come before the prices of all models.
        const places = await page.evaluate(() => {
          const stops = [...document.querySelectorAll('main :is(a[href], button, input, select, summary, [tabindex])')];
          return ['.offer input', '.sheet'].map((selector) => stops.findIndex((stop) => stop.matches(selector)));
        });
        expect(places[0]).toBeGreaterThan(0);
        expect(places[1]).toBeGreaterThan(places[0]!);

        const isFound = async (filter: object) => {
          const query = 'query ($filter: OfferFilterInput) { offerSearch(filter: $filter) { totalCount } }';
          const asker = await renter('0');
          // Other tests rent meanwhile: both have to agree at some moment.
          const areEqual = async () => {
            const { body } = await asker.graphql(query, { filter });
            const name = `${body.data.offerSearch.totalCount.toLocaleString('en')} machines to rent now`;
            return page.getByRole('heading', { name, exact: true }).isVisible();
          };
          await expect.poll(areEqual, { timeout: SOON_MS }).toBe(true);
        };
        await page.getByLabel('GPU model').fill('h100');
        await isFound({ gpus: ['h100-sxm', 'h100-nvl', 'h100-pcie'] });
        const sheet = page.getByRole('region', { name: 'Price sheet' });
        expect(await sheet.getByRole('rowheader').getByRole('button').allTextContents()).toEqual([
          'NVIDIA H100 SXM5',
          'NVIDIA H100 NVL',
          'NVIDIA H100 PCIe',
        ]);
        await sheet.getByRole('button', { name: 'NVIDIA H100 NVL' }).click();
        await sheet.getByRole('button', { name: 'NVIDIA H100 PCIe' }).click();
        await isFound({ gpus: ['h100-nvl', 'h100-pcie'] });
        expect(new URL(page.url()).search).toBe('?q=h100&gpu=h100-nvl,h100-pcie');
        await page.getByRole('button', { name: 'No longer only NVIDIA H100 NVL' }).click();
        await isFound({ gpus: ['h100-pcie'] });
        await page.getByLabel('GPU model').fill('no such model');
        await sheet.getByRole('button', { name: 'NVIDIA H100 PCIe' }).click();
        await page.getByRole('heading', { name: 'No machine meets these requirements now' }).waitFor();

        await page.getByLabel('GPU model').fill('4090 rtx');
        await page.getByRole('combobox', { name: 'GPUs', exact: true }).selectOption('2');
        await page.getByLabel('Reliability, %').fill('99.2');
        await page.getByLabel('Reliability, %').blur();
        const filter = { gpus: ['rtx-4090'], numMin: 2, reliabilityMin: 0.992 };
        await isFound(filter);
        expect(new URL(page.url()).search).toBe('?q=4090+rtx&gpus=2&reliability=99.2');
        await page.reload();
        await isFound(filter);
        expect(await page.getByRole('combobox', { name: 'GPUs', exact: true }).inputValue()).toBe('2');
        await page.goBack();
        await page.getByRole('heading', { name: /^[\d,]+ machines to rent now/ }).waitFor();
        expect(new URL(page.url()).search).toBe('?q=4090+rtx');
        expect(complaints).toEqual([]);
      }));

    it('shows how many are free as that changes, and lets go of its stream while hidden', () =>
      pages.with('/machines', null, async ({ page, requests }) => {
        const row = page.getByRole('row', { name: /NVIDIA A40\b/ });
        await row.waitFor();
        const free = async () => Number(await row.locator('[data-label="Free GPUs"]').innerText());
        const [before, owner] = [await free(), await renter()];
        const id = await deployed(owner, 'a40');
        await expect.poll(free, { timeout: SOON_MS }).toBeLessThan(before);

        const ended: Request[] = [];
        page.on('requestfailed', (request) => ended.push(request));
        const hide = (isHidden: boolean) =>
          page.evaluate((hidden) => {
            Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
            document.dispatchEvent(new Event('visibilitychange'));
          }, isHidden);
        await hide(true);
        await expect
          .poll(() => ended.map((request) => /PricingChanged/.test(request.postData() ?? '')), { timeout: SOON_MS })
          .toEqual([true]);
        const soFar = requests.length;
        await owner.rest('DELETE', `/instances/${id}`);
        await hide(false);
        await expect.poll(free, { timeout: SOON_MS }).toBe(before);
        expect(requests.slice(soFar).some((request) => /PricingChanged/.test(request.postData() ?? ''))).toBe(true);
      }));

    it('shows for each model how many free GPUs meet the requirements', () =>
      pages.with('/machines', null, async ({ page }) => {
        const shown = page.getByRole('row', { name: /NVIDIA GeForce RTX 4090 / }).locator('[data-label="Free GPUs"]');
        const text =
          'query ($filter: OfferFilterInput) { offerSearch(filter: $filter, first: 1) { models { gpu gpus } } }';
        const asked = async (filter: object): Promise<number> => {
          const { body } = await (await renter('0')).graphql(text, { filter: { gpus: ['rtx-4090'], ...filter } });
          return body.data.offerSearch.models[0].gpus;
        };
        const all = await asked({});
        await expect.poll(async () => Number(await shown.innerText()), { timeout: SOON_MS }).toBe(all);
        await page.getByLabel('Region').selectOption('us-tx');
        const inTexas = await asked({ regions: ['us-tx'] });
        expect(inTexas).toBeLessThan(all);
        await expect.poll(async () => Number(await shown.innerText()), { timeout: SOON_MS }).toBe(inTexas);
        await page.getByRole('combobox', { name: 'GPUs', exact: true }).selectOption('4');
        const inFours = await asked({ regions: ['us-tx'], numMin: 4 });
        expect(inFours).toBeLessThan(inTexas);
        await expect.poll(async () => Number(await shown.innerText()), { timeout: SOON_MS }).toBe(inFours);
        // A model chosen narrows the list of machines, and not what the sheet says of the others.
        await page.getByRole('button', { name: 'NVIDIA A40', exact: true }).click();
        await expect.poll(async () => Number(await shown.innerText()), { timeout: SOON_MS }).toBe(inFours);
        await page.getByRole('button', { name: 'Clear all requirements' }).click();
        await expect.poll(async () => Number(await shown.innerText()), { timeout: SOON_MS }).toBe(all);
      }));

    it('shows the price of a model over its snapshots: of one in words, of more as a chart, when they come', () =>
      pages.with('/machines?gpu=t4', null, async ({ page, complaints }) => {
        const panel = page.getByRole('region', { name: 'NVIDIA Tesla T4' });
        const first = await newestSheet();
        const words = (price: string, date: string, listings: number) =>
          `${price} USD per GPU-hour on demand at ${date}, from ${listings} listings`;
        await panel.getByText(`${words(first.price, first.date, first.listings)}; the first snapshot.`).waitFor();
        expect(await panel.getByRole('img').count()).toBe(0);

        await query(
          env.DATABASE_URL!,
          `with snapshot as (insert into market_snapshot (date, published_at) values ('2026-11-21', now()))
           insert into gpu_price (snapshot_date, gpu, on_demand_rate, median_micro, listings)
           select '2026-11-21', gpu, case when gpu = 't4' then 990000 else on_demand_rate end, median_micro,
             case when gpu = 't4' then 77 else listings end
           from gpu_price where snapshot_date = $1`,
          [first.date],
        );
        const told = `${words('0.99', '2026-11-21', 77)}; ${first.price} at ${first.date}, 2 snapshots.`;
        const chart = panel.getByRole('img', { name: told });
        await chart.waitFor();
        await page.getByText('Market of 2026-11-21').waitFor();
        const sheet = page.getByRole('region', { name: 'Price sheet' });
        await sheet
          .getByRole('row', { name: /NVIDIA Tesla T4 / })
          .getByText('0.99')
          .waitFor();
        const titles = await chart
          .locator('circle title')
          .evaluateAll((all) => all.map(({ textContent }) => textContent));
        expect(titles).toEqual([
          `${first.date}: ${first.price} from ${first.listings} listings`,
          '2026-11-21: 0.99 from 77 listings',
        ]);
        // Dearer is higher, later is further to the right.
        const [before, after] = await chart
          .locator('circle')
          .evaluateAll((all) => all.map((dot) => [Number(dot.getAttribute('cx')), Number(dot.getAttribute('cy'))]));
        expect(after![0]).toBeGreaterThan(before![0]!);
        expect(after![1]).toBeLessThan(before![1]!);
        expect(await faultsIn(page)).toEqual([]);
        expect(complaints).toEqual([]);
      }));

    it('makes an account without a name, shows its key once, and signs in with it when it is kept', () =>
      pages.with('/sign-in', null, async ({ page }) => {
        await page.getByRole('button', { name: 'Create an account' }).click();
        const secret = await page.locator('.secret').innerText();
        expect(secret).toMatch(/^gpu_live_[0-9a-f]{40}$/);
        expect(await page.getByRole('button', { name: 'Sign in with it' }).isDisabled()).toBe(true);
        await page.getByLabel('I have copied it to a safe place').check();
        await page.getByRole('button', { name: 'Sign in with it' }).click();
        await page.getByRole('heading', { name: 'Nothing is rented' }).waitFor();
        expect(await page.content()).not.toContain(secret);
      }));
  });

  it('takes a key once, and keeps it nowhere', async () => {
    const owner = await renter();
    await pages.with('/money', null, async ({ page, requests }) => {
      await page.getByLabel('API key').fill('gpu_live_wrong');
      await page.keyboard.press('Enter');
      await page.getByText('This key is not accepted').waitFor();
      await page.getByLabel('API key').fill(owner.key);
      await page.keyboard.press('Enter');
      await heading(page, 'Money').waitFor();
      await page.locator('[data-figure="balance"]').waitFor();

      const secret = owner.key.slice('gpu_live_'.length);
      expect(JSON.stringify(await page.context().storageState())).not.toContain(secret);
      expect(
        await page.evaluate(() =>
          JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href]),
        ),
      ).not.toContain(secret);
      expect(await page.content()).not.toContain(secret);
      expect(requests.filter((request) => request.url().includes(secret))).toEqual([]);
      expect(requests.filter((request) => request.postData()?.includes(secret))).toHaveLength(1);
      expect(gateway.stderr()).not.toContain(secret);
      const [cookie] = await page.context().cookies();
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });

      await page.getByRole('button', { name: 'Sign out' }).click();
      await heading(page, 'Sign in').waitFor();
      await page.locator('.status-line').getByText('Signed out').waitFor();
      expect(await page.context().cookies()).toEqual([]);
    });
  });

  describe('renting', () => {
    it('says the price of exactly this rental before the button, and shows it RUNNING once pressed', async () => {
      const owner = await renter();
      const machine = await cheapest('rtx-5090');
      await pages.with(
        `/machines?gpu=rtx-5090&disk=60&deploy=${machine}&deploy-disk=100`,
        owner,
        async ({ page, complaints }) => {
          const { body } = await owner.graphql(
            'query ($input: QuoteInput!) { quote(input: $input) { totalPriceHr account { exhaustsAt } } }',
            { input: { machineId: machine, diskGb: 100 } },
          );
          const button = page.getByRole('button', { name: `Deploy for ${body.data.quote.totalPriceHr} USD/h` });
          await button.waitFor();
          await page.getByText('Your balance of 100.00 USD lasts').waitFor();
          await button.click();
          await page.getByText('running', { exact: true }).waitFor();
          expect(new URL(page.url()).pathname).toMatch(/^\/instances\/i-[0-9a-f]{8}$/);
          const rented = (await owner.rest('GET', '/instances')).body.data;
          expect(rented.map(({ disk_gb }: { disk_gb: number }) => disk_gb)).toEqual([100]);
          expect(complaints).toEqual([]);
        },
      );
    });

    it('rents once, however often the button is pressed', async () => {
      const owner = await renter();
      // A disk that a machine has to have is none that is asked for.
      await pages.with('/machines?gpu=l40s&disk=60&deploy=best', owner, async ({ page, requests }) => {
        const button = page.getByRole('button', { name: /^Deploy for/ });
        await button.waitFor();
        await button.evaluate((element: HTMLButtonElement) => {
          for (let press = 0; press < 5; press += 1) element.click();
        });
        await page.getByText('running', { exact: true }).waitFor();
        const rented = (await owner.rest('GET', '/instances')).body.data;
        expect(rented.map(({ disk_gb }: { disk_gb: number }) => disk_gb)).toEqual([50]);
        expect(requests.filter((request) => /mutation Deploy/.test(request.postData() ?? ''))).toHaveLength(1);
      });
    });

    it('says that a lost request did nothing, and shows what one did whose answer was lost', async () => {
      const owner = await renter();
      await pages.with('/machines?gpu=l40s&deploy=best', owner, async ({ page }) => {
        await page.getByRole('button', { name: /^Deploy for/ }).waitFor();
        let presses = 0;
        await page.route('**/graphql', async (route) => {
          if (!/mutation DeployBest/.test(route.request().postData() ?? '')) return route.fallback();
          presses += 1;
          if (presses === 2) await route.fetch();
          return route.abort();
        });
        await page.getByRole('button', { name: /^Deploy for/ }).click();
        await page.getByText('The request did not arrive: nothing was rented').waitFor();
        await page.getByRole('button', { name: /^Deploy for/ }).click();
        await page.getByText('running', { exact: true }).waitFor();
        expect(presses).toBe(2);
        expect((await owner.rest('GET', '/instances')).body.data).toHaveLength(1);
      });
    });

    it('says that the machine was taken meanwhile, keeps what was typed, and offers the next best', async () => {
      const [owner, other] = [await renter(), await renter()];
      const machine = await cheapest('a100-sxm-80gb');
      await pages.with(`/machines?gpu=a100-sxm-80gb&deploy=${machine}`, owner, async ({ page }) => {
        await page.getByRole('radio', { name: /^An image of your own/ }).click();
        await page.getByLabel('Image', { exact: true }).fill('ghcr.io/acme/train:1.2');
        await page.getByRole('button', { name: /^Deploy for/ }).waitFor();
        expect((await other.rest('POST', '/instances', { machine_id: machine })).status).toBe(201);
        await page.getByText(/is taken|is rented|not free/).waitFor();
        await page.getByText('Next best:').waitFor();
        await page.getByRole('button', { name: 'Take this one' }).click();
        await expect.poll(() => new URL(page.url()).searchParams.get('machine')).not.toBe(machine);
        expect(await page.getByLabel('Image', { exact: true }).inputValue()).toBe('ghcr.io/acme/train:1.2');
        await page.getByRole('button', { name: /^Deploy for/ }).click();
        await page.getByText('running', { exact: true }).waitFor();
        expect((await owner.rest('GET', '/instances')).body.data[0].template).toBe('ghcr.io/acme/train:1.2');
      });
    });

    it('lets somebody without a key fill in the form, sign in, and go on in it; never to another origin', async () => {
      const owner = await renter();
      await pages.with('/machines?gpu=l40s&deploy=best', null, async ({ page }) => {
        await page.getByRole('radio', { name: /^ComfyUI/ }).click();
        await page.getByRole('link', { name: 'Sign in to rent it' }).click();
        await page.getByLabel('API key').fill(owner.key);
        await page.keyboard.press('Enter');
        await page.getByRole('button', { name: /^Deploy for/ }).waitFor();
        expect(await page.getByRole('radio', { name: /^ComfyUI/ }).isChecked()).toBe(true);
        expect(
          await page
            .getByRole('navigation')
            .getByRole('link', { name: 'Machines', exact: true })
            .getAttribute('aria-current'),
        ).toBe('page');
        for (const then of ['//elsewhere.test/keys', '/..//elsewhere.test/keys', 'http://[']) {
          await page.goto(`${gateway.address}/sign-in?then=${encodeURIComponent(then)}`);
          await heading(page, 'Home').waitFor();
          expect(page.url()).toBe(`${gateway.address}/`);
        }
        expect((await page.goto(`${gateway.address}/nowhere`))?.status()).toBe(404);
        await heading(page, 'There is nothing here').waitFor();
        await page.goto(`${gateway.address}/money/elsewhere`);
        await heading(page, 'There is nothing here').waitFor();
      });
    });

    it('leads from the addresses of before to the page that rents, which one leaves by going back', () =>
      pages.with('/machines?gpu=l40s', null, async ({ page }) => {
        const address = () => new URL(page.url()).pathname + new URL(page.url()).search;
        for (const [old, next] of [
          ['/?gpu=l40s&deploy=best&mode=RESERVED', '/deploy?gpu=l40s&mode=RESERVED'],
          ['/machines?deploy=m-00000000&template=vllm&sort=VRAM', '/deploy?template=vllm&machine=m-00000000'],
        ]) {
          await page.goto(gateway.address + old);
          await expect.poll(address, { timeout: SOON_MS }).toBe(next);
          await page.getByRole('heading', { level: 1, name: /^Rent / }).waitFor();
          await page.goBack();
        }
        await heading(page, 'Machines').waitFor();
        await page.getByRole('link', { name: 'Rent the best that fits' }).click();
        await page.getByRole('radio', { name: /^Reserved/ }).check();
        await page.getByLabel('Stop it once it has cost, USD in all').fill('2.50');
        await page.getByText('Name, variables, secrets, command, ports').click();
        await page.getByLabel('Name', { exact: true }).fill('mine');
        await page.getByRole('button', { name: 'Add a variable' }).click();
        await page.getByLabel('Name of variable 1').fill('TOKEN');
        await page.getByLabel('Value of variable 1').fill('hidden');
        // What is chosen is in the address; values of variables never are.
        await expect.poll(address).toBe('/deploy?gpu=l40s&mode=RESERVED&limit=2.50&name=mine');
        await page.getByRole('button', { name: 'curl' }).click();
        await page.getByText('"TOKEN": "hidden"').waitFor();
        await page.reload();
        await page.getByText('A link filled in this form').waitFor();
        expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('mine');
        expect(await page.getByLabel('Stop it once it has cost, USD in all').inputValue()).toBe('2.50');
        expect(address()).not.toContain('hidden');
        await page.goBack();
        await heading(page, 'Machines').waitFor();
      }));

    it('says in plain words what a balance is too small for, and offers nothing where there is no like', async () => {
      await pages.with(`/machines?gpu=${DEAR}&deploy=best`, await renter('0.01'), async ({ page, requests }) => {
        await page
          .getByRole('main')
          .getByText(/balance/i)
          .first()
          .waitFor();
        expect(await page.getByRole('button', { name: /^Deploy/ }).getAttribute('aria-disabled')).toBe('true');
        await page.getByRole('link', { name: 'Add credit' }).click();
        await heading(page, 'Money').waitFor();
        // Another machine would cost as much; and one that does not exist has no like.
        await page.goto(`${gateway.address}/machines?deploy=m-00000000`);
        await page.getByText('No machine m-00000000 is offered').waitFor();
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        );
        const likes = requests.filter((request) => /OfferSearch/.test(request.postData() ?? ''));
        expect(likes.filter((request) => request.postDataJSON().variables.first === 2)).toEqual([]);
      });
    });
  });

  describe('instances', () => {
    it('shows the progress of a container, as its machine reports it', async () => {
      const owner = await renter();
      const { code } = await enrol(deps, { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false });
      const agent = await WireAgent.join(gateway.address, code);
      await agent.report();
      await expect
        .poll(async () => (await owner.rest('POST', '/instances', { machine_id: agent.machineId })).status, {
          timeout: SOON_MS,
        })
        .toBe(201);
      const [{ id }] = (await owner.rest('GET', '/instances')).body.data;
      await pages.with(`/instances/${id}`, owner, async ({ page }) => {
        const state = page.getByRole('region', { name: 'State' });
        await state.getByText('waiting for its machine').waitFor();
        await agent.report([seen(id, 'PULLING', { pulledBytes: 120_000_000, totalBytes: 240_000_000 })]);
        await state.getByText('pulling the image: 120 MB of 240 MB').waitFor();
        await agent.report([seen(id, 'RUNNING')]);
        await state.getByText('container runs').waitFor();
        // It is the machine that does not answer, not the service. What was heard last is written within a second.
        const silence = `update machine_heartbeat set reachable = false, seen_at = seen_at - interval '1 hour'
          where reachable returning machine_id`;
        const silenced = async () => (await query(env.DATABASE_URL!, silence)).length;
        await silenced();
        await expect.poll(silenced, { interval: 2_000, timeout: SOON_MS }).toBe(0);
        await page.getByRole('link', { name: 'Log', exact: true }).click();
        await page.getByText(`The machine of ${id} is not heard from.`).waitFor();
        expect(await page.locator('.status-line').innerText()).toContain('Live');
        await page.getByRole('link', { name: 'Overview', exact: true }).click();
        await agent.report([seen(id, 'FAILED', { message: 'no such image: <b>acme</b>' })]);
        await state.getByText('no such image: <b>acme</b>').waitFor();
      });
    });

    it('shows a stop by the command line without loading again', async () => {
      const owner = await renter();
      const id = await deployed(owner, 'rtx-5090');
      await pages.with('/instances', owner, async ({ page }) => {
        await page.getByText('running', { exact: true }).waitFor();
        await page.evaluate(() => Object.assign(window, { isTheSamePage: true }));
        const { code } = await gpu(['stop', id], {
          GPU_BASE_URL: `${gateway.address}/v1`,
          GPU_API_KEY: owner.key,
          XDG_CONFIG_HOME: folder(),
        });
        expect(code).toBe(0);
        await page.getByText('stopped', { exact: true }).waitFor();
        expect(await page.evaluate(() => 'isTheSamePage' in window)).toBe(true);
      });
    });

    it('says what each action costs from then on, and does it', async () => {
      const owner = await renter();
      const id = await deployed(owner, 'rtx-5090');
      await pages.with(`/instances/${id}`, owner, async ({ page }) => {
        await page.getByRole('button', { name: `Stop ${id}` }).click();
        await page.getByText('keeps costing 0.007 USD/h').waitFor();
        await page.getByText('The machine may be taken by others meanwhile').waitFor();
        await page.getByRole('button', { name: 'Stop', exact: true }).click();
        await page.getByText('stopped', { exact: true }).waitFor();
        await page.getByRole('button', { name: `Start ${id}` }).click();
        await page.getByRole('button', { name: 'Start', exact: true }).click();
        await page.getByText('running', { exact: true }).waitFor();
        await page.getByRole('button', { name: `Destroy ${id}` }).click();
        await page.getByText('erased. This cannot be undone').waitFor();
        await page.getByRole('button', { name: 'Destroy', exact: true }).click();
        await page.getByText('destroyed', { exact: true }).waitFor();
        await page.getByRole('link', { name: 'Instances', exact: true }).first().click();
        await page.getByRole('link', { name: 'History' }).click();
        await page.getByLabel('State').selectOption('destroyed');
        await page.getByRole('link', { name: id }).waitFor();
      });
    });

    it('filters the history in the address, and the service answers', async () => {
      const owner = await renter();
      const destroyed = await deployed(owner, 'rtx-5090');
      await owner.rest('DELETE', `/instances/${destroyed}`);
      const [machine] = [await cheapest('l40s')];
      const kept = (await owner.rest('POST', '/instances', { machine_id: machine, type: 'interruptible' })).body.id;
      await pages.with('/instances?show=history', owner, async ({ page, requests, complaints }) => {
        const rows = () => page.getByRole('row').getByRole('link').allInnerTexts();
        await page.getByText('2 instances in all').waitFor();
        expect(await rows()).toEqual([kept, destroyed]);
        await page.getByRole('combobox', { name: 'State' }).selectOption('destroyed');
        await page.getByText('1 instance in all').waitFor();
        expect(await rows()).toEqual([destroyed]);
        await page.getByRole('combobox', { name: 'Stopped' }).selectOption('by you');
        await page.getByRole('combobox', { name: 'Priced' }).selectOption('On demand');
        const today = new Date().toISOString().slice(0, 10);
        await page.getByLabel('Rented from (UTC)').fill('2020-01-31');
        await page.getByLabel('to (UTC)', { exact: true }).fill(today);
        await page.reload();
        await page.getByText('1 instance in all').waitFor();
        expect(new URL(page.url()).search).toBe(
          `?show=history&status=DESTROYED&reason=USER&mode=ON_DEMAND&from=2020-01-31&to=${today}`,
        );
        expect(await page.getByRole('combobox', { name: 'Priced' }).inputValue()).toBe('ON_DEMAND');
        await page.getByRole('combobox', { name: 'GPU model' }).selectOption('l40s');
        await page.getByRole('heading', { name: 'None of these' }).waitFor();
        await page.getByRole('button', { name: 'Clear all filters' }).click();
        await page.getByText('2 instances in all').waitFor();
        expect(new URL(page.url()).search).toBe('?show=history');
        // The service filters: the page asks it each time.
        const asked = requests.flatMap((request) =>
          /query InstanceHistory/.test(request.postData() ?? '') ? [request.postDataJSON().variables.filter] : [],
        );
        expect(asked).toContainEqual(expect.objectContaining({ statuses: ['DESTROYED'], gpus: ['l40s'] }));
        expect(complaints).toEqual([]);
      });
    });
  });

  describe('money', () => {
    it('shows the same burn, costs and end of credit on every screen, which are the service’s own', async () => {
      const owner = await renter('50');
      const id = await deployed(owner, 'rtx-5090');
      await pages.with('/money', owner, async ({ page }) => {
        const query = `{ account { burnPerHour exhaustsAt } instance(id: "${id}") { priceHr diskPriceHr } }`;
        const { account, instance } = (await owner.graphql(query)).body.data;
        const end = new Date(account.exhaustsAt).toLocaleTimeString('en-GB', {
          hour: '2-digit',
          minute: '2-digit',
          timeZone: 'Europe/Berlin',
        });
        const link = page.locator('.head-balance');
        await link.getByText(new RegExp(`runs out .*${end}`)).waitFor();
        await page
          .locator('main')
          .getByText(new RegExp(`runs out .*${end}`))
          .waitFor();
        expect(await figure(page, 'burn')).toBe(account.burnPerHour);
        expect(account.burnPerHour).toBeCloseTo(instance.priceHr + instance.diskPriceHr, 6);
        const utc = new Date(account.exhaustsAt).toISOString().slice(11, 16);
        expect(await page.locator('main time').first().innerText()).toContain(`${utc} UTC`);

        await page.getByRole('navigation').getByRole('link', { name: 'Instances' }).click();
        await page.getByRole('cell', { name: String(account.burnPerHour), exact: true }).waitFor();
        await link.getByText(new RegExp(`runs out .*${end}`)).waitFor();
        const cost = async () => Number(await page.locator('[data-label="Cost so far, USD"]').innerText());
        const inList = await cost();
        await page.getByRole('link', { name: id }).click();
        await page.getByText(`${account.burnPerHour} USD/h`).first().waitFor();
        const soFar = page.locator('dt', { hasText: 'Cost so far' }).locator('+ dd');
        const onScreen = Number((await soFar.innerText()).replace(/\s*USD$/, ''));
        const { usage } = (await owner.graphql(`{ instance(id: "${id}") { usage { total } } }`)).body.data.instance;
        expect(onScreen).toBeGreaterThanOrEqual(inList);
        expect(Math.abs(onScreen - usage.total)).toBeLessThan(0.01);
      });
    });

    it('shows spend and statement as the API has them, and hands the statement over as CSV', async () => {
      const owner = await renter('50');
      const id = await deployed(owner, 'rtx-5090');
      const today = new Date().toISOString().slice(0, 10);
      const spent = async () =>
        (await owner.graphql(`{ spendByDay(from: "${today}") { total } }`)).body.data.spendByDay.total;
      await expect.poll(spent, { timeout: SOON_MS }).toBeGreaterThan(0);
      await owner.rest('DELETE', `/instances/${id}`);
      await pages.with('/money', owner, async ({ page }) => {
        const month = new Date().toISOString().slice(0, 7);
        const query = `{ statement(from: "${month}-01T00:00:00Z") { closingBalance lines { amount } } }`;
        const { statement } = (await owner.graphql(query)).body.data;
        await page
          .getByRole('row', { name: /^Balance/ })
          .getByText(statement.closingBalance.toFixed(6))
          .waitFor();
        await page.getByRole('img', { name: /^Spend by UTC day/ }).waitFor();
        await page.getByRole('row', { name: new RegExp(`${id} GPUs today \\d\\d:\\d\\d .* at `) }).waitFor();
        const download = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download CSV' }).click();
        const text = await readFile(await (await download).path(), 'utf8');
        expect(text.split('\r\n')[1]).toMatch(/^OPENING_BALANCE,/);
        expect(text).toContain(`,${statement.closingBalance.toFixed(6)},`);
        expect(text).toMatch(new RegExp(`GPU,,${id},.*,,,${today}T[\\d:]+Z,${today}T`));
      });
    });
  });

  describe('faults', () => {
    it('ends the session when its key is revoked, and says so', async () => {
      const owner = await renter();
      await pages.with('/instances', owner, async ({ page }) => {
        await page.getByRole('heading', { name: 'Nothing is rented' }).waitFor();
        const { body } = await owner.graphql('{ apiKeys { id isCurrent } }');
        const { id } = body.data.apiKeys.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
        await owner.graphql('mutation ($id: ID!) { revokeApiKey(id: $id) { id } }', { id });
        await page.getByText('You are signed out').waitFor();
        await heading(page, 'Sign in').waitFor();
      });
    });

    it('warns before it revokes the key of its own session, and creates keys that are shown once', async () => {
      const owner = await renter();
      await pages.with('/keys', owner, async ({ page }) => {
        await page.getByLabel('Name').fill('laptop');
        await page.getByRole('button', { name: 'Create a key' }).click();
        const secret = await page.locator('.secret').innerText();
        expect(secret).toMatch(/^gpu_live_[0-9a-f]{40}$/);
        await page.getByRole('row', { name: /laptop/ }).waitFor();
        await page.getByRole('button', { name: 'I have it' }).click();
        expect(await page.content()).not.toContain(secret);
        await page
          .getByRole('row', { name: /this session/ })
          .getByRole('button', { name: /^Revoke/ })
          .click();
        await page.getByText('you are signed out with it').waitFor();
        await page.getByRole('button', { name: 'Revoke', exact: true }).click();
        await heading(page, 'Sign in').waitFor();
      });
    });

    it('adds and removes SSH keys, and says what is wrong with one', async () => {
      const owner = await renter();
      await pages.with('/keys', owner, async ({ page }) => {
        await page.getByRole('heading', { name: 'No SSH key yet' }).waitFor();
        const field = page.getByLabel('Public key, the line of a .pub file');
        await field.fill('ssh-ed25519 AAAA');
        await page.getByRole('button', { name: 'Add the SSH key' }).click();
        await page.getByRole('alert').waitFor();
        await field.fill(newSshKey('laptop'));
        await page.getByRole('button', { name: 'Add the SSH key' }).click();
        await page.getByRole('row', { name: /laptop ssh-ed25519 SHA256:/ }).waitFor();
        await page.getByRole('button', { name: 'Remove the SSH key laptop' }).click();
        await page.getByRole('heading', { name: 'No SSH key yet' }).waitFor();
      });
    });

    it('shows what others wrote as text: a template, a note, a CPU', async () => {
      const owner = await renter();
      const machine = await cheapest('rtx-4080');
      await db.pool.query('update machine set cpu = $1 where id = $2', [XSS, machine]);
      await db.pool.query('insert into template (slug, image, description, position) values ($1, $2, $3, 900)', [
        'hostile',
        'a/b:c',
        XSS,
      ]);
      await creditAccount(deps, owner.accountId, { amountMicro: 1_000_000n, note: XSS });
      await pages.with(`/machines?compare=${machine},m-00000000`, owner, async ({ page, complaints }) => {
        await page.getByText(SEEN).first().waitFor();
        await page.goto(`${gateway.address}/machines?gpu=rtx-4080&deploy=${machine}&template=hostile`);
        await page.getByRole('main').getByText(SEEN).last().waitFor();
        await page.goto(`${gateway.address}/money`);
        await page.getByText(SEEN).waitFor();
        expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
        expect(complaints).toEqual([]);
      });
    });

    it('says that the clock of the computer is off, and counts by the service’s', async () => {
      const owner = await renter();
      const context = await pages.context(owner);
      await context.addInitScript(() => {
        const ahead = 180_000;
        const now = Date.now.bind(Date);
        Date.now = () => now() + ahead;
      });
      const { page } = await pages.visit('/money', context);
      await page.getByText(/The clock of this computer is 3 min( \d+ s)? fast/).waitFor();
      expect(await figure(page, 'balance')).toBe(100);
      await context.close();
    });
  });

  describe('for everybody', () => {
    it('rents and destroys by keyboard alone, with the focus where it belongs', async () => {
      const keyboardOwner = await renter();
      await pages.with('/machines?gpu=rtx-5090', keyboardOwner, async ({ page }) => {
        const focused = () => page.evaluate(() => (document.activeElement as HTMLElement).innerText.trim());
        const opener = page.getByRole('link', { name: 'Rent the best that fits' });
        await opener.focus();
        await page.keyboard.press('Enter');
        await page.getByRole('button', { name: /^Deploy for/ }).waitFor();
        await expect.poll(focused).toMatch(/^Rent the best that fits:/);
        await page.goBack();
        await heading(page, 'Machines').waitFor();
        await opener.focus();
        await page.keyboard.press('Enter');
        const deploy = page.getByRole('button', { name: /^Deploy for/ });
        await deploy.waitFor();
        for (let presses = 0; presses < 40 && !/^Deploy for/.test(await focused()); presses += 1)
          await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.getByText('running', { exact: true }).waitFor();
        await expect.poll(focused).toMatch(/^i-[0-9a-f]{8}$/);

        const destroy = page.getByRole('button', { name: /^Destroy i-/ });
        for (let presses = 0; presses < 10 && (await focused()) !== 'Destroy'; presses += 1)
          await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.getByRole('dialog').waitFor();
        for (let presses = 0; presses < 6 && (await focused()) !== 'Destroy'; presses += 1)
          await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.getByText('destroyed', { exact: true }).waitFor();
        expect(await destroy.count()).toBe(0);
        await expect.poll(focused).toMatch(/^i-[0-9a-f]{8}$/);
      });
    });
  });

  // What takes long has run beside all others; what ends the gateway comes last.
  it('ticks between two answers as the service counts, in two tabs, and after the page stood still', async () => {
    const { wrong, looks, fell, settles, complaints } = await ticking;
    expect(complaints).toEqual([]);
    // A busy machine draws late; a page that does not tick is wrong in most looks.
    expect(wrong, `${wrong} of ${looks} looks`).toBeLessThanOrEqual(looks * 0.5);
    expect(fell).toBeGreaterThan(0.06);
    expect(settles).toBeLessThanOrEqual(9);
  });

  it('says that an account asks too often, and goes on by itself', async () => {
    expect(await limited).toEqual({ refused: 429, isCounted: true, notices: 0 });
  });

  it('says that the gateway is away, and goes on by itself when it is there again', async () => {
    const owner = await renter();
    const id = await deployed(owner, 'rtx-5090');
    await pages.with('/instances', owner, async ({ page }) => {
      await page.getByText('running', { exact: true }).waitFor();
      await page.getByText('Live', { exact: true }).waitFor();
      // What could not be read offline is read when the browser is back, though its stream was never lost.
      await page.context().setOffline(true);
      await page.getByRole('navigation').getByRole('link', { name: 'Money' }).click();
      await page.getByText('The service does not answer').first().waitFor();
      await page.context().setOffline(false);
      await page.getByRole('row', { name: /^Opening balance/ }).waitFor();
      // Each part of the screen asks again by itself.
      await expect.poll(() => page.getByText('The service does not answer').count(), { timeout: SOON_MS }).toBe(0);
      await page.getByRole('navigation').getByRole('link', { name: 'Instances' }).click();
      await page.getByText('running', { exact: true }).waitFor();
      await gateway.kill();
      await page.getByText('No connection to the service').waitFor();
      await page.getByRole('link', { name: id }).waitFor();
      // A screen that could not be read is read when the gateway is there again.
      await page.getByRole('link', { name: 'Money' }).click();
      await page.getByText('The service does not answer').first().waitFor();
      gateway = await startProcess(env);
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('row', { name: /^Opening balance/ }).waitFor();
      await page.getByText('The service does not answer').first().waitFor({ state: 'detached' });
      await page.getByRole('navigation').getByRole('link', { name: 'Instances' }).click();
      await owner.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
      await page.getByText('stopped', { exact: true }).waitFor();
      const ended = gateway.end();
      await page.getByText('The service is restarting').waitFor();
      await ended;
      gateway = await startProcess(env);
      await page.getByText('Live', { exact: true }).waitFor();
    });
  });
});
