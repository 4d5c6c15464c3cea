import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { expectSoundInLongRun, heading, SOON_MS } from '../support/console/pages.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;

const renter = (creditUsd?: string) => here.renter(creditUsd);

const BOLD = '<b>bold</b>';
/** Also lists machines without a host agent, even if another test has one with an agent. */
const ALL = '/machines?agentless=1';

/** Returns a model's number of free GPUs, as its card shows it, or NaN before it does. */
async function freeOf(page: Page, name: RegExp): Promise<number> {
  const [card] = await page.getByRole('button', { name }).allInnerTexts();
  return Number(/(\d+)\s+free/.exec(card ?? '')?.[1]);
}

/** Returns a model's name without the version of its socket, which short names omit. */
const short = (name: string): string => name.replace(/SXM\d/, 'SXM');

describe('the market page in Chromium', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('shows prices and free GPUs on a first visit, using few requests to its origin', async () => {
    const context = await here.pages.context(null);
    const page = await context.newPage();
    const requests: Request[] = [];
    page.on('request', (request) => requests.push(request));
    await page.goto(here.gateway.address, { waitUntil: 'commit' });
    await page.getByRole('row', { name: /NVIDIA H100 SXM\b/ }).waitFor();
    await page
      .getByRole('link', { name: /: \d+ GPUs free$/ })
      .first()
      .waitFor();

    expect(requests.filter((request) => new URL(request.url()).origin !== here.gateway.address)).toEqual([]);
    // Chromium may request the icon once or twice.
    const urls = requests.map((request) => request.url()).filter((url) => !url.endsWith('/icon.svg'));
    expect(urls.length, urls.join('\n')).toBeLessThanOrEqual(14);
    const sized = requests.filter((request) => /\.(js|css|svg)$|\/$/.test(request.url()));
    const sizes = await Promise.all(sized.map((request) => request.sizes()));
    const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(85_000);
    await context.close();
  });

  it('shows the API’s three prices, free counts and regions, and rents with one click', () =>
    here.pages.with('/', null, async ({ page, complaints }) => {
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
      const names = await cards.locator('h2').allTextContents();
      const tiers = ['FLAGSHIP', 'DATACENTER', 'CONSUMER_FLAGSHIP'];
      const slugs: string[] = [];
      expect(shown).toHaveLength(tiers.length);
      for (const [place, tier] of tiers.entries()) {
        const lines = shown[place]!.split(/\s*\n\s*/);
        const model = pricing.data.find((each: Priced) => short(each.name) === names[place]);
        expect(model.tier).toBe(tier);
        slugs.push(model.slug);
        expect(lines.join(' ')).toContain(`${model.pricePerGpuHour.onDemand.toFixed(2)} USD per GPU-hour`);
      }
      const links = page.getByRole('link', { name: /: \d+ GPUs? free$/ });
      await expect.poll(() => links.count(), { timeout: SOON_MS }).toBe(offerSearch.regions.length);
      const named = async () => {
        const free = (await asked()).offerSearch.regions.find(({ region }: { region: string }) => region === 'us-tx');
        const name = regions.find(({ code }: { code: string }) => code === 'us-tx').name;
        return page.getByRole('link', { name: `${name}: ${free.gpus} GPUs free` }).count();
      };
      // Other tests rent in the meantime.
      await expect.poll(named, { timeout: SOON_MS }).toBe(1);
      await cards
        .nth(2)
        .getByRole('link', { name: /^Deploy NVIDIA/ })
        .click();
      await heading(page, 'Deploy').waitFor();
      const { pathname, search } = new URL(page.url());
      expect(pathname + search).toBe(`/deploy?gpu=${slugs[2]}`);
      expect(complaints).toEqual([]);
    }));

  it('redirects an old URL to the machines that it selected', () =>
    here.pages.with('/?gpu=rtx-4090&gpus=2', null, async ({ page }) => {
      await page.getByRole('heading', { name: /^[\d,]+ machines$/ }).waitFor();
      const { pathname, search } = new URL(page.url());
      expect(pathname + search).toBe('/machines?gpu=rtx-4090&gpus=2');
    }));

  it('starts with popular models and saves searches by name', () =>
    here.pages.with(ALL, null, async ({ page, complaints }) => {
      const rows = page.locator('.offer');
      await rows.first().waitFor();
      const owner = await renter();
      const priced = await owner.graphql('{ pricing { data { slug tier availableGpus } } }');
      const [most] = priced.body.data.pricing.data
        .filter(({ tier }: { tier: string }) => tier === 'FLAGSHIP')
        .toSorted(
          (one: { availableGpus: number }, other: { availableGpus: number }) => other.availableGpus - one.availableGpus,
        );
      const { body } = await owner.graphql(
        `{ offerSearch(filter: { gpus: ["${most.slug}"], hasAgent: false }, first: 1) { edges { node { machineId } } } }`,
      );
      const [cheapest] = body.data.offerSearch.edges;
      await page.locator('.offer:not(:has(.badge.good))').first().getByText(cheapest.node.machineId).first().waitFor();
      // Other tests rent in the meantime.
      const isCounted = async () => {
        const { totalCount } = (await owner.graphql('{ offerSearch(first: 1) { totalCount } }')).body.data.offerSearch;
        return page.getByRole('heading', { name: `${totalCount.toLocaleString('en')} machines` }).count();
      };
      await expect.poll(isCounted, { timeout: SOON_MS }).toBe(1);
      const popular = page.getByRole('list', { name: 'Popular models' });
      await popular.getByRole('button').first().click();
      expect(new URL(page.url()).search).toBe(`?agentless=1&gpu=${most.slug}`);
      expect(await popular.getByRole('button', { pressed: true }).count()).toBe(1);

      const saved = page.getByRole('region', { name: 'Saved searches' });
      await saved.getByRole('button', { name: 'Save this search' }).click();
      await page.keyboard.type(BOLD);
      await page.keyboard.press('Enter');
      await saved.getByRole('link', { name: BOLD }).waitFor();
      await page.goto(`${here.gateway.address}/machines?region=us-tx&sort=VRAM`);
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
      await expectSoundInLongRun(page);
      await page.goto(`${here.gateway.address}/machines`);
      await rows.first().waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'What are you looking for?' }).waitFor();
      await page.keyboard.type('large in');
      await page.keyboard.press('Enter');
      await expect.poll(() => new URL(page.url()).search, { timeout: SOON_MS }).toBe('?region=us-tx&sort=VRAM');
      expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
      expect(complaints).toEqual([]);
    }));

  it('sorts by any figure, in the heading or the choice, and keeps the order in the URL', () =>
    here.pages.with(`${ALL}&gpu=h100-sxm,h100-pcie`, null, async ({ page, complaints }) => {
      const asker = await renter('0');
      const query = `{ offerSearch(filter: { gpus: ["h100-sxm", "h100-pcie"] }, first: 100) { edges { node {
        machineId gpu numGpus vcpus netMbps { down } reliability pricePerHour { onDemand } } } }
        gpuModels { slug memoryBandwidth } }`;
      const { offerSearch, gpuModels } = (await asker.graphql(query)).body.data;
      type Found = {
        machineId: string;
        gpu: string;
        numGpus: number;
        netMbps: { down: number };
        reliability: number;
        pricePerHour: { onDemand: number };
      };
      const found = new Map<string, Found>(
        offerSearch.edges.map(({ node }: { node: Found }) => [node.machineId, node] as const),
      );
      const speeds = new Map(
        gpuModels.map(({ slug, memoryBandwidth }: { slug: string; memoryBandwidth: number }) => [
          slug,
          memoryBandwidth,
        ]),
      );
      await page.locator('.offer').first().waitFor();
      const isSorted = async (of: (one: Found) => number) => {
        // Rows far below the visible area aren't drawn.
        const ids = await page
          .locator('.offer th a')
          .evaluateAll((all) =>
            all.map((each) => new URL((each as HTMLAnchorElement).href).searchParams.get('details')!),
          );
        const figures = ids.map((id) => of(found.get(id)!));
        return figures.length > 1 && figures.every((figure, at) => at === 0 || figure >= figures[at - 1]!);
      };
      const sort = () => new URL(page.url()).searchParams.get('sort');
      for (const [name, address, direction, of] of [
        ['USD/GPU-h', 'PRICE_PER_GPU', 'ascending', (one) => one.pricePerHour.onDemand / one.numGpus],
        ['Reliability', 'RELIABILITY', 'descending', (one) => -one.reliability],
      ] as readonly [string, string, string, (one: Found) => number][]) {
        const head = page.getByRole('columnheader', { name });
        await head.getByRole('button').click();
        expect(sort()).toBe(address);
        await expect.poll(() => isSorted(of), { timeout: SOON_MS }).toBe(true);
        expect(await head.getAttribute('aria-sort')).toBe(direction);
      }
      for (const [name, address, of] of [
        ['Most memory bandwidth', 'BANDWIDTH', (one) => -Number(speeds.get(one.gpu)) * one.numGpus],
        ['Fastest network', 'NETWORK', (one) => -one.netMbps.down],
      ] as readonly [string, string, (one: Found) => number][]) {
        await page.getByLabel('Sort').selectOption(name);
        expect(sort()).toBe(address);
        await expect.poll(() => isSorted(of), { timeout: SOON_MS }).toBe(true);
      }
      expect(complaints).toEqual([]);
    }));

  it('shows equal machines in one row, which opens without hiding selected ones', () =>
    here.pages.with(`${ALL}&gpu=h100-sxm&region=us-tx`, null, async ({ page, complaints }) => {
      const rows = page.locator('.offer');
      const toggle = page.getByRole('button', { name: /^×\d+ available like m-/ }).first();
      await toggle.waitFor();
      const [closed, count] = [await rows.count(), Number(/\d+/.exec(await toggle.innerText()))];
      expect(count).toBeGreaterThan(1);
      await toggle.click();
      expect(await toggle.getAttribute('aria-expanded')).toBe('true');
      await expect.poll(() => rows.count()).toBe(closed + count - 1);
      expect(await page.locator('.offer.member').count()).toBe(count - 1);
      await page.locator('.offer.member').first().getByRole('checkbox').check();
      await toggle.click();
      await expect.poll(() => rows.count()).toBe(closed + 1);
      expect(await page.locator('.offer.member').getByRole('checkbox').isChecked()).toBe(true);
      // Equal machines may differ in their disks, so this order shows each one.
      await page.getByLabel('Sort').selectOption('Most disk');
      await toggle.waitFor({ state: 'detached' });
      expect(complaints).toEqual([]);
    }));

  it('compares selected machines over the list, and opens a comparison from its URL', () =>
    here.pages.with(`${ALL}&gpu=h100-sxm,h100-pcie`, null, async ({ page, complaints }) => {
      const ticks = page.getByRole('checkbox', { name: /^Compare m-/ });
      for (const place of [3, 2, 1, 0]) await ticks.nth(place).check();
      const ids = new URL(page.url()).searchParams.get('compare')!.split(',');
      expect(ids).toHaveLength(4);
      expect(await ticks.nth(4).isDisabled()).toBe(true);
      await ticks.nth(12).scrollIntoViewIfNeeded();
      const bar = page.getByRole('region', { name: 'Compare', exact: true });
      const { top, bottom } = await bar.evaluate((panel) => panel.getBoundingClientRect().toJSON());
      expect(top).toBeGreaterThan(0);
      expect(bottom).toBeLessThanOrEqual(900);
      await bar.getByText('4 selected').waitFor();
      const open = bar.getByRole('button', { name: 'Compare' });
      await open.click();
      const dialog = page.getByRole('dialog', { name: 'Compare 4 machines' });
      for (const id of ids) await dialog.getByRole('button', { name: `Remove ${id}` }).waitFor();
      // Only rows in which the machines differ are emphasised.
      const emphasised = dialog.locator('tr.differs');
      expect(await emphasised.filter({ hasText: 'Runs containers' }).count()).toBe(0);
      for (const row of await emphasised.all()) {
        expect(new Set(await row.getByRole('cell').allInnerTexts()).size).toBeGreaterThan(1);
      }
      await expectSoundInLongRun(page, 'dialog');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      await expect.poll(() => open.evaluate((button) => button === document.activeElement)).toBe(true);

      await page.reload();
      await dialog.getByRole('button', { name: `Remove ${ids[0]}` }).click();
      await page
        .getByRole('link', { name: `Deploy ${ids[1]}` })
        .last()
        .click();
      await heading(page, 'Deploy').waitFor();
      expect(new URL(page.url()).searchParams.get('machine')).toBe(ids[1]);
      expect(complaints).toEqual([]);
    }));

  it('shows a machine’s details over the list', () =>
    here.pages.with(`${ALL}&gpu=h100-sxm`, null, async ({ page, complaints }) => {
      const name = page.locator('.offer th a').first();
      await name.click();
      const id = new URL(page.url()).searchParams.get('details')!;
      const details = page.getByRole('dialog', { name: /^\d × H100 SXM$/ });
      await details.getByText(id, { exact: true }).first().waitFor();
      await details.getByText('CUDA up to').waitFor();
      await expectSoundInLongRun(page, 'dialog');
      await details.getByRole('button', { name: 'Add to comparison' }).click();
      await page.keyboard.press('Escape');
      await expect.poll(() => name.evaluate((link) => link === document.activeElement)).toBe(true);
      expect(new URL(page.url()).searchParams.get('compare')).toBe(id);
      expect(complaints).toEqual([]);
    }));

  it('keeps the search in the URL and finds the same machines as the API', () =>
    here.pages.with(ALL, null, async ({ page, complaints }) => {
      await page.locator('.offer').first().waitFor();
      const isFound = async (filter: object) => {
        const query = 'query ($filter: OfferFilterInput) { offerSearch(filter: $filter) { totalCount } }';
        const asker = await renter('0');
        // Other tests rent in the meantime, so both only need to agree at some point.
        const areEqual = async () => {
          const { body } = await asker.graphql(query, { filter });
          const name = `${body.data.offerSearch.totalCount.toLocaleString('en')} machines`;
          return page.getByRole('heading', { name, exact: true }).isVisible();
        };
        await expect.poll(areEqual, { timeout: SOON_MS }).toBe(true);
      };
      await page.getByLabel('GPU model').fill('h100');
      await isFound({ gpus: ['h100-sxm', 'h100-nvl', 'h100-pcie'] });
      const sheet = page.getByRole('dialog', { name: 'Models and prices' });
      const open = page.getByRole('button', { name: /^All \d+ models/ });
      await open.click();
      expect((await sheet.getByRole('rowheader').allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))).toEqual([
        'NVIDIA H100 SXM 80 GB',
        'NVIDIA H100 NVL 94 GB',
        'NVIDIA H100 PCIe 80 GB',
      ]);
      await sheet.getByRole('checkbox', { name: /NVIDIA H100 NVL/ }).check();
      await sheet.getByRole('checkbox', { name: /NVIDIA H100 PCIe/ }).check();
      await expectSoundInLongRun(page, 'dialog');
      await sheet.getByRole('button', { name: 'Done' }).click();
      await isFound({ gpus: ['h100-nvl', 'h100-pcie'] });
      expect(new URL(page.url()).search).toBe('?agentless=1&q=h100&gpu=h100-nvl,h100-pcie');
      await page.getByRole('button', { name: 'Remove filter: NVIDIA H100 NVL' }).click();
      await isFound({ gpus: ['h100-pcie'] });
      await page.getByLabel('GPU model').fill('no such model');
      await page.getByRole('button', { name: 'Remove filter: NVIDIA H100 PCIe' }).click();
      await page.getByRole('heading', { name: 'No machine matches these filters right now' }).waitFor();
      await page.getByRole('link', { name: 'Clear all filters' }).click();
      await isFound({});

      await page.getByLabel('GPU model').fill('4090 rtx');
      await page.getByRole('combobox', { name: 'GPUs', exact: true }).selectOption('2');
      await page.getByRole('button', { name: 'More filters' }).click();
      await page.getByLabel('Reliability (%)').fill('99.2');
      await page.getByLabel('Reliability (%)').blur();
      const filter = { gpus: ['rtx-4090'], numMin: 2, reliabilityMin: 0.992 };
      await isFound(filter);
      expect(new URL(page.url()).search).toBe('?agentless=1&q=4090+rtx&gpus=2&reliability=99.2');
      await page.reload();
      await isFound(filter);
      await page.getByRole('button', { name: 'More filters 1 set' }).waitFor();
      expect(await page.getByRole('combobox', { name: 'GPUs', exact: true }).inputValue()).toBe('2');
      await page.goBack();
      await page.getByRole('heading', { name: /^[\d,]+ machines$/ }).waitFor();
      expect(new URL(page.url()).search).toBe('?agentless=1&q=4090+rtx');
      expect(complaints).toEqual([]);
    }));

  it('updates free counts live, and closes its stream while the page is hidden', () =>
    here.pages.with(`${ALL}&gpu=a40`, null, async ({ page, requests }) => {
      const free = () => freeOf(page, /^NVIDIA A40\b/);
      await page.getByRole('button', { name: /^NVIDIA A40\b/ }).waitFor();
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

  it('shows how many free GPUs of each model meet the requirements', () =>
    here.pages.with(ALL, null, async ({ page }) => {
      const shown = () => freeOf(page, /^NVIDIA GeForce RTX 4090 /);
      await page.getByRole('button', { name: /^NVIDIA GeForce RTX 4090 / }).waitFor();
      const text =
        'query ($filter: OfferFilterInput) { offerSearch(filter: $filter, first: 1) { models { gpu gpus } } }';
      const asked = async (filter: object): Promise<number> => {
        const { body } = await (await renter('0')).graphql(text, { filter: { gpus: ['rtx-4090'], ...filter } });
        return body.data.offerSearch.models[0].gpus;
      };
      const all = await asked({});
      await expect.poll(shown, { timeout: SOON_MS }).toBe(all);
      await page.getByLabel('Location').selectOption('us-tx');
      const inTexas = await asked({ regions: ['us-tx'] });
      expect(inTexas).toBeLessThan(all);
      await expect.poll(shown, { timeout: SOON_MS }).toBe(inTexas);
      await page.getByRole('combobox', { name: 'GPUs', exact: true }).selectOption('4');
      const inFours = await asked({ regions: ['us-tx'], numMin: 4 });
      expect(inFours).toBeLessThan(inTexas);
      await expect.poll(shown, { timeout: SOON_MS }).toBe(inFours);
      // A selected model narrows the list of machines but not the figures of other models.
      await page.goto(`${page.url()}&gpu=a40`);
      await expect.poll(shown, { timeout: SOON_MS }).toBe(inFours);
      await page.getByRole('button', { name: 'Clear all filters' }).click();
      await expect.poll(shown, { timeout: SOON_MS }).toBe(all);
    }));
});
