import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { creditAccount } from '../../src/domain/accounts/accounts.js';
import { seen } from '../support/agent.js';
import { deployed, OpenConsole } from '../support/console/open-console.js';
import { expectSound, expectSoundInLongRun, SOON_MS } from '../support/console/pages.js';
import { Settling } from '../support/console/screen-look.js';
import type { Renter } from '../support/gateway.js';
import { newSshKey } from '../support/ssh-key.js';
import { needs } from '../support/tools.js';

let here: OpenConsole;

const renter = (creditUsd?: string) => here.renter(creditUsd);

/** Returns a renter who has an SSH key, and so has no first steps left after renting. */
async function withSshKey(creditUsd: string): Promise<Renter> {
  const owner = await renter(creditUsd);
  await owner.graphql(`mutation { addSshKey(publicKey: "${newSshKey('laptop')}") { id } }`);
  return owner;
}

describe('the Home screen', needs('chromium'), () => {
  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('shows the first steps, marks completed ones and hides them once all are done', async () => {
    const owner = await renter('0');
    await here.pages.with('/', owner, async ({ page, complaints }) => {
      const steps = page.getByRole('region', { name: 'First steps' });
      const doneSteps = () => steps.getByRole('heading', { name: /, done$/ }).count();
      // This gateway accepts no payments, so there is no form to add credit.
      await steps.getByText('Request credit from the operator').waitFor();
      await steps.getByText(owner.accountId).waitFor();
      await steps.getByText('0 of 3 done').waitFor();
      await steps.getByRole('button', { name: 'Copy account id' }).waitFor();
      expect(await page.locator('main .primary').allInnerTexts()).toEqual(['Add SSH key']);
      expect(await page.locator('[data-figure]').count()).toBe(0);
      await page.getByRole('heading', { name: 'Choose a GPU to get started' }).waitFor();
      await page.getByRole('link', { name: /RTX 4090.*USD\/h.*Configure/ }).waitFor();
      await expectSoundInLongRun(page);

      await steps.getByRole('link', { name: 'Add SSH key' }).click();
      await page.getByRole('button', { name: 'New SSH key' }).click();
      await page.getByLabel('Public key').fill(newSshKey('laptop'));
      await page.getByRole('button', { name: 'Add', exact: true }).click();
      await page.getByRole('row', { name: /laptop SHA256:/ }).waitFor();
      await page.goBack();
      await expect.poll(doneSteps, { timeout: SOON_MS }).toBe(1);

      // Credit and a rental by another client appear without a reload.
      await creditAccount(here.deps, owner.accountId, { amountMicro: 50_000_000n, note: 'a test' });
      await expect.poll(doneSteps, { timeout: SOON_MS }).toBe(2);
      await page.getByRole('link', { name: /RTX 4090.*USD\/h.*Deploy/ }).waitFor();
      expect(await page.locator('main .primary').allInnerTexts()).toEqual(['Deploy']);
      const id = await deployed(owner, 'rtx-4090');
      await page.getByRole('region', { name: 'Your instances' }).getByRole('link', { name: id }).waitFor();
      await steps.waitFor({ state: 'detached' });
      expect(complaints).toEqual([]);
    });
  });

  it('offers GPUs and templates that fill in the Deploy page', async () => {
    await here.pages.with('/', await renter('50'), async ({ page }) => {
      await page.getByRole('link', { name: /RTX 4090.*Deploy/ }).click();
      await expect.poll(() => page.getByLabel('GPU model').inputValue(), { timeout: SOON_MS }).toBe('rtx-4090');
      await page.goBack();
      await page.getByRole('link', { name: 'ComfyUI' }).click();
      await page.getByRole('radio', { name: /^ComfyUI/, checked: true }).waitFor();
      // The template needs 12 GB of GPU memory.
      expect(new URL(page.url()).searchParams.get('vram')).toBe('12');
      await page.goBack();
      await page.getByRole('link', { name: /^Run a model/ }).click();
      await page.getByRole('heading', { level: 1, name: 'Run a model' }).waitFor();
    });
  });

  it('shows running instances, their cost and the month’s forecast', async () => {
    const owner = await renter('5');
    await deployed(owner, 'rtx-4090');
    await here.pages.with('/', owner, async ({ page }) => {
      const figure = async (name: string) =>
        Number((await page.locator(`[data-figure="${name}"]`).innerText()).replace(/[^\d.]/g, ''));
      const { account } = (await owner.graphql('{ account { burnPerHour } }')).body.data;
      await expect.poll(() => figure('burn'), { timeout: SOON_MS }).toBe(account.burnPerHour);
      const now = new Date();
      const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
      const rest = (account.burnPerHour * (end - now.getTime())) / 3_600_000;
      // This is longer than the delay of a slow machine.
      const minutes = account.burnPerHour / 20;
      expect(Math.abs((await figure('forecast')) - rest)).toBeLessThan(minutes + 0.02);
      // The credit doesn't last the month, so the page shows the missing amount, rounded up.
      if (rest > 6) expect(Math.abs((await figure('missing')) - (rest - 5))).toBeLessThan(minutes + 0.02);
    });
  });

  it('lists and links to everything that needs attention', async () => {
    const owner = await withSshKey('1000');
    const id = await deployed(owner, 'rtx-4090');
    await here.pages.with('/', owner, async ({ page, complaints }) => {
      const panel = page.getByRole('region', { name: 'Needs attention' });
      await page.getByText('Nothing needs your attention').waitFor();
      expect(await panel.count()).toBe(0);
      await owner.graphql('mutation ($id: ID!) { setDeadlines(id: $id, stopAt: "2h") { id } }', { id });
      await page.reload();
      await panel.getByText(`${id} stops automatically`).waitFor();
      await expectSoundInLongRun(page);
      // The rest uses only the keyboard.
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press('Tab');
        if ((await page.evaluate(() => document.activeElement?.textContent)) === `Open ${id}`) break;
      }
      await page.keyboard.press('Enter');
      await expect.poll(() => new URL(page.url()).pathname).toBe(`/instances/${id}`);
      expect(complaints).toEqual([]);
    });
  });

  it('shows the machine’s message about a failed container as plain text', async () => {
    const owner = await renter('1000');
    const { agent, id } = await here.rented(owner);
    await here.pages.with('/', owner, async ({ page }) => {
      await page.getByRole('link', { name: id }).waitFor();
      await agent.report([seen(id, 'FAILED', { message: 'no such image: <b>acme</b>\u202e' })]);
      // The failed start stops the rental, whose own message repeats the reason.
      await page.getByText('no such image: <b>acme</b>\\u202e').waitFor();
      await page.getByText('Urgent:').waitFor({ state: 'attached' });
      await expectSound(page);
    });
  });

  it('links to screens whose layout barely shifts while they load', async () => {
    const owner = await renter('10');
    await deployed(owner, 'l40s');
    const context = await here.pages.context(owner);
    await context.addInitScript(() => {
      Object.assign(window, { shift: 0 });
      new PerformanceObserver((list) => {
        for (const { value } of list.getEntries() as unknown as { value: number }[])
          (window as unknown as { shift: number }).shift += value;
      }).observe({ type: 'layout-shift', buffered: true });
    });
    const { page } = await here.pages.visit('/', context);
    const settling = new Settling(page);
    const shifts: [string, number][] = [];
    for (const path of ['/', '/machines', '/deploy?gpu=l40s', '/billing']) {
      await page.goto(here.gateway.address + path);
      await settling.settled();
      shifts.push([path, await page.evaluate(() => (window as unknown as { shift: number }).shift)]);
    }
    await context.close();
    expect(shifts.filter(([, shift]) => shift >= 0.1)).toEqual([]);
  });

  it("is a renter's start page, unless the URL selects machines", async () => {
    const owner = await renter('10');
    await here.pages.with('/?gpu=rtx-4090', owner, async ({ page }) => {
      await page.getByRole('heading', { level: 1, name: 'Machines' }).waitFor();
      await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Instances' }).click();
      await page.goto(here.gateway.address);
      await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      expect(await page.title()).toBe('Home · GPU rental');
    });
  });
});
