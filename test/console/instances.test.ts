import { readFile } from 'node:fs/promises';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enrol } from '../../src/domain/fleet/enrolment.js';
import { seen } from '../support/agent.js';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { faultsIn, figure, SOON_MS } from '../support/console/pages.js';
import { needs } from '../support/tools.js';
import { WireAgent } from '../support/wire-agent.js';

let here: OpenConsole;

const renter = (creditUsd?: string) => here.renter(creditUsd);

describe('the instance and money pages in Chromium', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('show a container’s progress as its machine reports it', async () => {
    const owner = await renter();
    const { agent, id } = await here.rented(owner);
    await here.pages.with(`/instances/${id}`, owner, async ({ page }) => {
      const state = page.getByRole('region', { name: 'State' });
      await state.getByText('Waiting for the machine').waitFor();
      await agent.report([seen(id, 'PULLING', { pulledBytes: 120_000_000, totalBytes: 240_000_000 })]);
      await state.getByText('120 MB of 240 MB').waitFor();
      await agent.report([seen(id, 'RUNNING')]);
      await page.getByText('running', { exact: true }).waitFor();
      // The machine is unreachable, but the service isn't. A report that is written late makes it reachable again.
      const silence = `update machine_heartbeat set reachable = false, seen_at = seen_at - interval '1 hour'
        where reachable and machine_id = $1`;
      await page.getByRole('link', { name: 'Log', exact: true }).click();
      const unreachable = page.getByText(`${id}'s machine is unreachable`);
      const isShown = async () => {
        await here.sql(silence, [agent.machineId]);
        return (await unreachable.count()) > 0;
      };
      await expect.poll(isShown, { interval: 1_000, timeout: SOON_MS }).toBe(true);
      expect(await page.locator('.status-line').innerText()).toContain('Live');
      await page.getByRole('link', { name: 'Overview', exact: true }).click();
      await agent.report([seen(id, 'FAILED', { message: 'no such image: <b>acme</b>' })]);
      await state.getByText('no such image: <b>acme</b>').waitFor();
    });
  });

  it('show a stop by another client without a reload', async () => {
    const owner = await renter();
    const id = await deployed(owner, 'rtx-5090');
    await here.pages.with('/instances', owner, async ({ page }) => {
      await page.getByText('running', { exact: true }).waitFor();
      await page.evaluate(() => Object.assign(window, { isTheSamePage: true }));
      await owner.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
      await page.getByText('stopped', { exact: true }).waitFor();
      expect(await page.evaluate(() => 'isTheSamePage' in window)).toBe(true);
    });
  });

  it('show the cost of each action, then perform it', async () => {
    const owner = await renter();
    const id = await deployed(owner, 'rtx-5090');
    await here.pages.with(`/instances/${id}`, owner, async ({ page }) => {
      await page.getByRole('button', { name: `Stop ${id}` }).click();
      await page.getByText('is kept and costs 0.007 USD/h').waitFor();
      await page.getByText('Others can rent the machine in the meantime').waitFor();
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByText('stopped', { exact: true }).waitFor();
      await page.getByRole('button', { name: `Start ${id}` }).click();
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.getByText('running', { exact: true }).waitFor();
      await page.getByRole('button', { name: `Actions for ${id}` }).click();
      await page.getByRole('menuitem', { name: `Destroy ${id}` }).click();
      await page.getByText('erased. This can’t be undone').waitFor();
      await page.getByRole('button', { name: 'Destroy', exact: true }).click();
      await page.getByText('destroyed', { exact: true }).waitFor();
      await page.getByRole('link', { name: 'Instances', exact: true }).first().click();
      await page.getByRole('link', { name: 'History' }).click();
      await page.getByRole('combobox', { name: 'Status' }).selectOption('destroyed');
      await page.getByRole('link', { name: id }).waitFor();
    });
  });

  it('keep the history’s filters in the URL and let the service apply them', async () => {
    const owner = await renter();
    const destroyed = await deployed(owner, 'rtx-5090');
    await owner.rest('DELETE', `/instances/${destroyed}`);
    const [machine] = [await here.cheapest('l40s')];
    const kept = (await owner.rest('POST', '/instances', { machine_id: machine, type: 'interruptible' })).body.id;
    await here.pages.with('/instances?show=history', owner, async ({ page, requests, complaints }) => {
      const rows = () => page.getByRole('row').getByRole('link').locator('.mono').allInnerTexts();
      await page.getByText('2 instances', { exact: true }).waitFor();
      expect(await rows()).toEqual([kept, destroyed]);
      await page.getByRole('combobox', { name: 'Status' }).selectOption('destroyed');
      await page.getByText('1 instance', { exact: true }).waitFor();
      expect(await rows()).toEqual([destroyed]);
      await page.getByText('More filters').click();
      await page.getByRole('combobox', { name: 'Stop reason' }).selectOption('by you');
      await page.getByRole('combobox', { name: 'Pricing' }).selectOption('On demand');
      const today = new Date().toISOString().slice(0, 10);
      await page.getByLabel('Rented from (UTC)').fill('2020-01-31');
      await page.getByLabel('To (UTC)', { exact: true }).fill(today);
      await page.reload();
      await page.getByText('1 instance', { exact: true }).waitFor();
      expect(new URL(page.url()).search).toBe(
        `?show=history&status=DESTROYED&reason=USER&mode=ON_DEMAND&from=2020-01-31&to=${today}`,
      );
      expect(await page.getByRole('combobox', { name: 'Pricing' }).inputValue()).toBe('ON_DEMAND');
      await page.getByRole('combobox', { name: 'Model' }).selectOption('l40s');
      await page.getByRole('heading', { name: 'No matching instances' }).waitFor();
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await page.getByText('2 instances', { exact: true }).waitFor();
      expect(new URL(page.url()).search).toBe('?show=history');
      // The service applies the filters, so the page queries it each time.
      const asked = requests.flatMap((request) =>
        /query InstanceHistory/.test(request.postData() ?? '') ? [request.postDataJSON().variables.filter] : [],
      );
      expect(asked).toContainEqual(expect.objectContaining({ statuses: ['DESTROYED'], gpus: ['l40s'] }));
      expect(complaints).toEqual([]);
    });
  });

  it('set labels at deploy, change them, and filter by them', async () => {
    const owner = await renter();
    const other = await deployed(owner, 'rtx-4090');
    await here.pages.with('/deploy?gpu=rtx-4090', owner, async ({ page, complaints }) => {
      const field = page.getByLabel('Labels', { exact: true });
      const labels = async () =>
        (await owner.graphql('{ instances { labels } }')).body.data.instances.map(
          (one: { labels: object }) => one.labels,
        );
      await page.getByText('Name, variables, command, ports').click();
      await field.fill('te am=vision');
      await page.locator('.deploy-outcome').getByText('te am').waitFor();
      await field.fill('team=vision, acme.io/run=1');
      await page.getByRole('button', { name: /^Deploy for/ }).click();
      await page.getByRole('link', { name: 'team=vision' }).waitFor();
      expect(await labels()).toEqual([{ team: 'vision', 'acme.io/run': '1' }, {}]);
      await page.getByRole('button', { name: /^Edit limits of i-/ }).click();
      const edited = page.getByRole('dialog').getByLabel('Labels', { exact: true });
      expect(await edited.inputValue()).toBe('team=vision, acme.io/run=1');
      await edited.fill('team=nlp, stage=test');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('link', { name: 'team=nlp' }).waitFor();
      await page.getByText('Settings saved.').waitFor();
      expect(await labels()).toEqual([{ team: 'nlp', stage: 'test' }, {}]);
      expect(await faultsIn(page)).toEqual([]);
      await page.getByRole('button', { name: /^Actions for i-/ }).click();
      await page.getByRole('menuitem', { name: 'Deploy again' }).click();
      await expect.poll(() => field.inputValue()).toBe('team=nlp, stage=test');
      await page.goto(`${here.gateway.address}/instances`);
      await page.getByRole('link', { name: other }).waitFor();
      for (const address of ['/instances?labels=', '/instances?show=history&labels=']) {
        await page.getByRole('link', { name: 'team=nlp' }).press('Enter');
        await expect.poll(() => page.locator('tbody tr:not(.past-day)').count()).toBe(1);
        expect(await page.getByRole('combobox', { name: 'Label' }).inputValue()).toBe('team=nlp');
        expect(page.url()).toBe(`${here.gateway.address}${address}team%3Dnlp`);
        expect(await faultsIn(page)).toEqual([]);
        await page.getByRole('link', { name: 'team=nlp' }).click();
        await page.getByRole('link', { name: other }).waitFor();
        await page.getByRole('link', { name: 'History' }).click();
      }
      expect(complaints).toEqual([]);
    });
  });

  it('save a view under a name that counts its instances and is found in the palette', async () => {
    const owner = await renter();
    const id = await deployed(owner, 'rtx-4090', 'train-1');
    await deployed(owner, 'rtx-5090', 'serve-1');
    await here.pages.with('/instances', owner, async ({ page, complaints }) => {
      const views = page.getByRole('region', { name: 'Saved views' });
      await page.getByRole('searchbox').fill('train');
      await page.getByText('1 of 2 instances').waitFor();
      await views.getByRole('button', { name: 'Save view' }).click();
      await page.getByLabel('Name of the view').fill('training');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'All 2' }).click();
      await page.getByText('2 instances', { exact: false }).first().waitFor();
      await views.getByRole('link', { name: 'training 1' }).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'What are you looking for?' }).fill('training');
      await page.keyboard.press('Enter');
      await page.getByText('1 of 2 instances').waitFor();
      expect(new URL(page.url()).search).toBe('?q=train');

      // The row's menu changes labels and fills in the Deploy page.
      const menu = page.getByRole('button', { name: 'Actions for train-1' });
      await menu.click();
      await page.getByRole('menuitem', { name: 'Edit labels …' }).click();
      await page.getByLabel('Labels, separated by commas').fill('team=vision');
      await page.keyboard.press('Enter');
      await page.getByText('Labels of train-1 saved.').waitFor();
      const { body } = await owner.graphql(`{ instance(id: "${id}") { labels } }`);
      expect(body.data.instance.labels).toEqual({ team: 'vision' });
      await menu.press('Enter');
      await page.getByRole('menuitem', { name: 'Deploy again' }).press('Enter');
      await expect.poll(() => new URL(page.url()).searchParams.get('gpu')).toBe('rtx-4090');
      expect(complaints).toEqual([]);
    });
  });

  it('list machines that run containers first and select one of them as the best', async () => {
    const { code } = await enrol(here.deps, { machineId: null, gpu: null, region: 'us-tx', online: true, demo: true });
    const agent = await WireAgent.join(here.gateway.address, code, { pretended: true });
    await agent.report();
    const [machine] = await here.sql('select gpu from machine where id = $1', [agent.machineId]);
    const owner = await renter();
    // The agent's first report is written within a second.
    const search = `{ offerSearch(first: 100, filter: { gpus: ["${machine!.gpu}"], hasAgent: true }) { edges { node { machineId } } } }`;
    const offered = async () => JSON.stringify((await owner.graphql(search)).body.data.offerSearch.edges);
    await expect.poll(offered, { timeout: SOON_MS }).toContain(agent.machineId);
    await here.pages.with(`/deploy?gpu=${machine!.gpu}`, owner, async ({ page, requests }) => {
      await page.locator('.which').getByText(agent.machineId).waitFor();
      const quotes = requests.map((request) => request.postData() ?? '').filter((text) => /query Quote/.test(text));
      expect(quotes.map((text) => JSON.parse(text).variables.input.filter.hasAgent)).toEqual([true]);
    });
    await here.pages.with(`/machines?gpu=${machine!.gpu}`, owner, async ({ page, complaints }) => {
      const offers = page.locator('.offer');
      const first = offers.first();
      await first.getByRole('link', { name: `Deploy ${agent.machineId}` }).waitFor();
      expect(await offers.filter({ hasText: 'demo' }).count()).toBe(0);
      await page.getByRole('link', { name: /^Show [\d,]+ machines without an agent$/ }).click();
      expect(new URL(page.url()).searchParams.get('agentless')).toBe('1');
      await first.getByText('trial', { exact: true }).waitFor();
      await offers.getByText('demo', { exact: true }).first().waitFor();
      await first.getByRole('link', { name: `Deploy ${agent.machineId}` }).waitFor();
      await page.getByRole('link', { name: 'Deploy cheapest' }).click();
      await page.locator('.which').getByText(agent.machineId).waitFor();
      await page.getByText('its GPUs are simulated').waitFor();
      await page.getByRole('button', { name: /^Deploy for/ }).click();
      await page.getByText('starting', { exact: true }).waitFor();
      expect(complaints).toEqual([]);
    });
  });

  it('show amounts from a single second on the Money page', async () => {
    const owner = await renter('50');
    await deployed(owner, 'h100-sxm');
    await here.pages.with('/billing', owner, async ({ page }) => {
      const closing = page.getByRole('row', { name: /^Balance now/ });
      await closing.waitFor();
      // By now, other figures on the page would have changed.
      await page.waitForTimeout(2_500);
      const exact = async (row: Locator) =>
        Number((await row.locator('.number [title]').last().getAttribute('title'))?.replace(/ USD$/, ''));
      const [spent, balance] = [await figure(page, 'month'), await exact(closing)];
      expect(spent).toBeGreaterThan(0);
      expect(spent + balance).toBeCloseTo(50, 6);
      expect(await figure(page, 'balance')).toBe(balance);
    });
  });

  it('show the spending rate, the costs and the end of credit on every screen', async () => {
    const owner = await renter('50');
    const id = await deployed(owner, 'rtx-5090');
    await here.pages.with('/billing', owner, async ({ page }) => {
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
        .getByText(new RegExp(`^Your credit runs out .*${end}`))
        .waitFor();
      expect(await figure(page, 'burn')).toBe(account.burnPerHour);
      expect(account.burnPerHour).toBeCloseTo(instance.priceHr + instance.diskPriceHr, 6);
      const utc = new Date(account.exhaustsAt).toISOString().slice(11, 16);
      expect(await page.locator('main time').first().innerText()).toContain(`${utc} UTC`);

      await page.getByRole('navigation').getByRole('link', { name: 'Instances' }).click();
      await page.getByRole('cell', { name: account.burnPerHour.toFixed(3), exact: true }).waitFor();
      await link.getByText(new RegExp(`runs out .*${end}`)).waitFor();
      const exact = async (within: Locator) =>
        Number((await within.locator('[title]').getAttribute('title'))?.replace(/ USD$/, ''));
      const cost = page.locator('td.i-cost');
      let inList = 0;
      const costInList = async () => {
        await page.mouse.move(0, 0);
        await cost.hover();
        inList = await exact(cost);
        return inList;
      };
      await expect.poll(costInList).toBeGreaterThan(0);
      await page.getByRole('link', { name: id }).click();
      await page.getByText(`${account.burnPerHour} USD/h`).first().waitFor();
      const onScreen = await figure(page, 'cost');
      const { usage } = (await owner.graphql(`{ instance(id: "${id}") { usage { total } } }`)).body.data.instance;
      expect(onScreen).toBeGreaterThanOrEqual(inList);
      expect(Math.abs(onScreen - usage.total)).toBeLessThan(0.01);
    });
  });

  it('show spend and statements from the API, and offer the statement as CSV', async () => {
    const owner = await renter('50');
    const id = await deployed(owner, 'rtx-5090');
    const today = new Date().toISOString().slice(0, 10);
    const spent = async () =>
      (await owner.graphql(`{ spendByDay(from: "${today}") { total } }`)).body.data.spendByDay.total;
    await expect.poll(spent, { timeout: SOON_MS }).toBeGreaterThan(0);
    await owner.rest('DELETE', `/instances/${id}`);
    await here.pages.with('/billing', owner, async ({ page }) => {
      const month = new Date().toISOString().slice(0, 7);
      const query = `{ statement(from: "${month}-01T00:00:00Z") { closingBalance lines { amount } } }`;
      const { statement } = (await owner.graphql(query)).body.data;
      await page
        .getByRole('row', { name: /^Balance now/ })
        .getByTitle(`${statement.closingBalance.toFixed(6)} USD`)
        .waitFor();
      await page.getByRole('img', { name: /^Spend by UTC day/ }).waitFor();
      await page.getByRole('row', { name: new RegExp(`${id} \\d+ \\w+, \\d\\d:\\d\\d`) }).waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download' }).click();
      await page.getByRole('menuitem', { name: 'CSV All lines' }).click();
      const text = await readFile(await (await download).path(), 'utf8');
      expect(text.split('\r\n')[1]).toMatch(/^OPENING_BALANCE,/);
      expect(text).toContain(`,${statement.closingBalance.toFixed(6)},`);
      expect(text).toMatch(new RegExp(`GPU,,${id},.*,,,${today}T[\\d:]+Z,${today}T`));
    });
  });
});
