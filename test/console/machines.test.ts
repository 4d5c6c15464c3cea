import type { Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { expectSoundInLongRun, heading, SOON_MS } from '../support/console/pages.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;

const renter = (creditUsd?: string) => here.renter(creditUsd);

const BOLD = '<b>bold</b>';

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
    await page.getByRole('row', { name: /NVIDIA H100 SXM5/ }).waitFor();
    await page
      .getByRole('link', { name: /: \d+ GPUs free$/ })
      .first()
      .waitFor();

    expect(requests.filter((request) => new URL(request.url()).origin !== here.gateway.address)).toEqual([]);
    // Chromium may request the icon once or twice.
    const urls = requests.map((request) => request.url()).filter((url) => !url.endsWith('/icon.svg'));
    expect(urls.length, urls.join('\n')).toBeLessThanOrEqual(13);
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
      await page.getByRole('heading', { name: /^[\d,]+ machines available/ }).waitFor();
      const { pathname, search } = new URL(page.url());
      expect(pathname + search).toBe('/machines?gpu=rtx-4090&gpus=2');
    }));

  it('starts with popular models and saves searches by name', () =>
    here.pages.with('/machines', null, async ({ page, complaints }) => {
      const rows = page.locator('.offer');
      await rows.first().waitFor();
      const owner = await renter();
      const { body } = await owner.graphql(
        `{ offerSearch(filter: { tiers: [FLAGSHIP] }, sort: PRICE_PER_GPU, first: 1) { edges { node { machineId } } }
           pricing { data { slug tier availableGpus gpuModel { memoryBandwidth } } } }`,
      );
      await rows.first().getByText(body.data.offerSearch.edges[0].node.machineId).first().waitFor();
      // Other tests rent in the meantime.
      const isCounted = async () => {
        const { totalCount } = (await owner.graphql('{ offerSearch(first: 1) { totalCount } }')).body.data.offerSearch;
        return page.getByRole('heading', { name: `${totalCount.toLocaleString('en')} machines available` }).count();
      };
      await expect.poll(isCounted, { timeout: SOON_MS }).toBe(1);
      const popular = page.getByRole('list', { name: 'Models with the most free GPUs' });
      const free = body.data.pricing.data.filter(({ tier }: { tier: string }) => tier === 'FLAGSHIP');
      const [most] = free.toSorted(
        (one: { availableGpus: number }, other: { availableGpus: number }) => other.availableGpus - one.availableGpus,
      );
      await popular.getByRole('link').first().click();
      expect(new URL(page.url()).search).toBe(`?gpu=${most.slug}`);
      // The figure is the manufacturer's value for the model, multiplied by the number of GPUs.
      const ofOneGpu = async () => {
        const [, gpus] = /^\s*(\d+) ×/.exec(await rows.first().innerText())!;
        const speed = await rows.first().locator('[data-label="GB/s"]').textContent();
        return Number(speed!.replaceAll(',', '')) / Number(gpus);
      };
      // The previous machines remain until the results of the search arrive.
      await expect.poll(ofOneGpu, { timeout: SOON_MS }).toBe(most.gpuModel.memoryBandwidth);

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

  it('sorts by any column and compares selected machines, keeping both in the URL', () =>
    here.pages.with('/machines?gpu=h100-sxm,h100-pcie', null, async ({ page, complaints }) => {
      const column = async (name: string) => {
        // Rows far below the visible area aren't drawn.
        const texts = await page.locator(`.offer [data-label="${name}"]`).allTextContents();
        return texts.map((text) => Number(text.replaceAll(/[^\d.]/g, '')));
      };
      await page.locator('.offer').first().waitFor();
      for (const [name, address, rises] of [
        ['USD/GPU-h', 'PRICE_PER_GPU', true],
        ['Reliability', 'RELIABILITY', false],
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
            figures.every((figure, at) => at === 0 || (rises ? figure >= figures[at - 1]! : figure <= figures[at - 1]!))
          );
        };
        await expect.poll(isSorted, { timeout: SOON_MS }).toBe(true);
        expect(await page.getByRole('columnheader', { name }).getAttribute('aria-sort')).toBe(
          rises ? 'ascending' : 'descending',
        );
      }
      const ticks = page.getByRole('checkbox', { name: /^Compare m-/ });
      for (const place of [3, 2, 1, 0]) await ticks.nth(place).check();
      const isSeen = ({ top, bottom }: { top: number; bottom: number }) => top >= 0 && bottom > top && bottom <= 900;
      const compare = page.getByRole('region', { name: 'Compare', exact: true });
      await ticks.nth(12).scrollIntoViewIfNeeded();
      expect(isSeen(await compare.evaluate((panel) => panel.getBoundingClientRect().toJSON()))).toBe(true);
      expect(await ticks.nth(4).isDisabled()).toBe(true);
      const ids = new URL(page.url()).searchParams.get('compare')!.split(',');
      expect(ids).toHaveLength(4);
      await page.reload();
      const compared = page.getByRole('region', { name: 'Compare', exact: true });
      for (const id of ids) await compared.getByRole('button', { name: `Remove ${id}` }).waitFor();
      await compared.getByRole('button', { name: `Remove ${ids[0]}` }).click();
      await compared.getByRole('link', { name: `Rent ${ids[1]}` }).click();
      await heading(page, 'Deploy').waitFor();
      expect(new URL(page.url()).searchParams.get('machine')).toBe(ids[1]);
      expect(complaints).toEqual([]);
    }));

  it('keeps the search in the URL and finds the same machines as the API', () =>
    here.pages.with('/machines', null, async ({ page, complaints }) => {
      await page.getByText(/No minimum, except 60\s+seconds of GPU/).waitFor();
      await page.locator('.offer').first().waitFor();
      // In the tab order, the machines come before the prices of all models.
      const places = await page.evaluate(() => {
        const stops = [...document.querySelectorAll('main :is(a[href], button, input, select, summary, [tabindex])')];
        return ['.offer input', '.sheet'].map((selector) => stops.findIndex((stop) => stop.matches(selector)));
      });
      expect(places[0]).toBeGreaterThan(0);
      expect(places[1]).toBeGreaterThan(places[0]!);

      const isFound = async (filter: object) => {
        const query = 'query ($filter: OfferFilterInput) { offerSearch(filter: $filter) { totalCount } }';
        const asker = await renter('0');
        // Other tests rent in the meantime, so both only need to agree at some point.
        const areEqual = async () => {
          const { body } = await asker.graphql(query, { filter });
          const name = `${body.data.offerSearch.totalCount.toLocaleString('en')} machines available`;
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
      await page.getByRole('button', { name: 'Remove NVIDIA H100 NVL' }).click();
      await isFound({ gpus: ['h100-pcie'] });
      await page.getByLabel('GPU model').fill('no such model');
      await sheet.getByRole('button', { name: 'NVIDIA H100 PCIe' }).click();
      await page.getByRole('heading', { name: 'No machine meets these requirements right now' }).waitFor();

      await page.getByLabel('GPU model').fill('4090 rtx');
      await page.getByRole('combobox', { name: 'GPUs', exact: true }).selectOption('2');
      await page.getByLabel('Reliability (%)').fill('99.2');
      await page.getByLabel('Reliability (%)').blur();
      const filter = { gpus: ['rtx-4090'], numMin: 2, reliabilityMin: 0.992 };
      await isFound(filter);
      expect(new URL(page.url()).search).toBe('?q=4090+rtx&gpus=2&reliability=99.2');
      await page.reload();
      await isFound(filter);
      expect(await page.getByRole('combobox', { name: 'GPUs', exact: true }).inputValue()).toBe('2');
      await page.goBack();
      await page.getByRole('heading', { name: /^[\d,]+ machines available/ }).waitFor();
      expect(new URL(page.url()).search).toBe('?q=4090+rtx');
      expect(complaints).toEqual([]);
    }));

  it('updates free counts live, and closes its stream while the page is hidden', () =>
    here.pages.with('/machines', null, async ({ page, requests }) => {
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

  it('shows how many free GPUs of each model meet the requirements', () =>
    here.pages.with('/machines', null, async ({ page }) => {
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
      // A selected model narrows the list of machines but not the sheet's other rows.
      await page.getByRole('button', { name: 'NVIDIA A40', exact: true }).click();
      await expect.poll(async () => Number(await shown.innerText()), { timeout: SOON_MS }).toBe(inFours);
      await page.getByRole('button', { name: 'Clear all requirements' }).click();
      await expect.poll(async () => Number(await shown.innerText()), { timeout: SOON_MS }).toBe(all);
    }));
});
