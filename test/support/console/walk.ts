import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { SCREENS } from '../../../src/http/console/page.js';
import { gpuSampled, sampled, seen } from '../agent.js';
import type { Renter } from '../gateway.js';
import { newSshKey } from '../ssh-key.js';
import { deployed, type OpenConsole } from './open-console.js';
import { beyondWindow } from './pages.js';
import { hardToUse, Settling, watchClicks } from './screen-look.js';

export const WIDE = { width: 1_400, height: 900 };
/** At a zoom of 200%, 1,280 px become 640 px. */
const NARROW = [320, 640];
/** A walk fails if it finds this many screens. Tabs count as screens, but ranges of a chart don't. */
const MOST_SCREENS = 60;
/** Variants of screens that depend on more than their path. */
const QUERIES: Record<string, readonly string[]> = {
  '/machines': ['?gpu=rtx-4090'],
  '/deploy': ['?gpu=rtx-4090'],
  '/launch': ['?template=pytorch&gpu=rtx-4090&env.A=b'],
};
/** Screens that show more if the page is loaded at their address. */
const LOADED = /^\/launch/;
/** Screens that redirect a renter who is signed in. */
const FOR_STRANGERS = new Set(['/sign-in']);
/** The instance's host has no tunnel, so its files and log can't be read, even after the container has failed. */
const WITHOUT_TUNNEL =
  /status of (503|409) .* of \/(console\/(files|logs)\/\S+|graphql) on \/instances\/\S+tab=(files|log)/;

/** A renter with one of everything that a screen can show. */
export interface Tenant {
  owner: Renter;
  /** An instance on a machine with an agent. */
  id: string;
  machineId: string;
}

export async function openTenant(here: OpenConsole): Promise<Tenant> {
  const owner = await here.renter('500');
  const { agent, id } = await here.rented(owner);
  await agent.desired();
  const samples = [50, 40, 30, 20, 10, 0].map((age) =>
    sampled(id, { age, cpuPercent: 40, memoryUsedBytes: 2_500_000_000, gpus: [gpuSampled({ busyPercent: 97 })] }),
  );
  await agent.report([seen(id, 'RUNNING')], { samples });
  const other = await deployed(owner, 't4');
  for (const text of [
    'mutation { createVolume(input: { name: "data", sizeGb: 10 }) { id } }',
    `mutation { addSshKey(publicKey: "${newSshKey('laptop')}") { id } }`,
    'mutation { createApiKey(name: "laptop") { secret } }',
    'mutation { createSecret(input: { name: "HF_TOKEN", value: "abc" }) { name } }',
    'mutation { createWebhook(url: "http://127.0.0.1:9/hook") { secret } }',
    'mutation { saveTemplate(input: { name: "mine", description: "A try", template: "pytorch", diskGb: 20 }) { name } }',
    `mutation { setDeadlines(id: "${id}", stopAt: "2h") { id } }`,
  ]) {
    const { body } = await owner.graphql(text);
    if (body.errors) throw new Error(`${text}: ${body.errors[0].message}`);
  }
  await owner.rest('DELETE', `/instances/${other}`);
  await deployed(owner, 'a40');
  await owner.graphql('mutation { setMonthlyLimit(monthlyLimit: 4) { monthlyLimit } }');
  return { owner, id, machineId: agent.machineId };
}

export interface Visited {
  page: Page;
  path: string;
  /** Selector of the open dialog, if any. What is behind the dialog is checked separately. */
  within: string;
}

/** Collects the faults of all screens, so that one run reports every fault. */
export class Faults {
  readonly found: string[] = [];

  add(path: string, what: string, each: readonly unknown[]): void {
    for (const fault of each) this.found.push(`${path}, ${what}: ${fault}`);
  }

  /** Whether the screen fits narrow windows. Leaves it narrow. */
  async fits({ page, path }: Visited): Promise<void> {
    for (const width of NARROW) {
      await page.setViewportSize({ ...WIDE, width });
      const beyond = await beyondWindow(page);
      this.add(path, `${width} px`, beyond > 0 ? [`${beyond} px too wide`] : []);
      this.add(path, `${width} px`, await hardToUse(page));
    }
  }
}

/** Follows a link in the console like a click, because reloading the page would cost more than the screen. */
async function follow(page: Page, to: string): Promise<void> {
  await page.evaluate((href) => {
    const link = Object.assign(document.createElement('a'), { href });
    document.body.append(link);
    link.click();
    link.remove();
  }, to);
}

/**
 * Walks through screens and the tabs that they link to in one page. By default, it covers all screens that the gateway
 * serves. `tenant` is null for a visitor.
 */
export async function walk(
  here: OpenConsole,
  tenant: Tenant | null,
  language: string,
  look: (visited: Visited) => Promise<void>,
  addresses: readonly string[] = ['/', ...SCREENS],
): Promise<{ paths: string[]; complaints: string[] }> {
  const context = await here.pages.context(tenant?.owner ?? null, { locale: language });
  await watchClicks(context);
  const { page, complaints } = await here.pages.visit('/', context);
  const settling = new Settling(page);
  const open = addresses.filter((each) => tenant === null || !FOR_STRANGERS.has(each));
  // Variants look the same to visitors and renters.
  const queries = (each: string) => (tenant === null ? [] : (QUERIES[each] ?? []));
  const id = tenant?.id ?? 'i-00000000';
  const todo = open.flatMap((each) => ['', ...queries(each)].map((more) => each.replace(':id', id) + more));
  /** Pages that were already checked, since many addresses show visitors the same form. */
  const looked = new Set<string>();
  for (const path of todo) {
    await page.setViewportSize(WIDE);
    await page.emulateMedia({ colorScheme: 'light' });
    if (LOADED.test(path)) await page.goto(here.gateway.address + path);
    else await follow(page, path);
    await settling.settled();
    const content = await page.content();
    if (looked.has(content)) continue;
    looked.add(content);
    const within = (await page.locator('dialog[open]').count()) > 0 ? 'dialog' : 'body';
    await look({ page, path, within });
    const tabs = await page
      .locator('main nav.tabs a')
      .evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).href));
    for (const { pathname, search, searchParams } of tabs.map((each) => new URL(each))) {
      if (!searchParams.has('range') && !todo.includes(pathname + search)) todo.push(pathname + search);
    }
    expect(todo.length).toBeLessThan(MOST_SCREENS);
  }
  expect(looked.size).toBeGreaterThan(1);
  await context.close();
  return { paths: todo, complaints: complaints.filter((each) => !WITHOUT_TUNNEL.test(each)) };
}
