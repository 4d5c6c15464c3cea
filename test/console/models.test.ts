import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { expectSound } from '../support/console/pages.js';
import { Hub, json, QWEN_7B } from '../support/hub.js';
import { needs } from '../support/tools.js';

const NAME = 'Qwen/Qwen2.5-7B-Instruct';

describe("the console's screen for running a model", needs('chromium'), () => {
  let here: OpenConsole;
  const hub = new Hub();

  beforeAll(async () => {
    here = await OpenConsole.shared();
    const { host, port } = new URL(here.env.MODEL_HUB!);
    expect(await hub.listen(Number(port))).toBe(`http://${host}`);
    hub.set(NAME, 'config.json', json(QWEN_7B));
  });
  afterAll(async () => {
    await here?.close();
    await hub.close();
  });

  it('reads a model by its name and fills in the Deploy page for it', async () => {
    await here.pages.with('/machines', await here.renter(), async ({ page, complaints }) => {
      await page.getByRole('link', { name: 'Run a model' }).click();
      await page.getByText('How much memory does your model need?').waitFor();
      await page.getByRole('textbox', { name: 'Model', exact: true }).fill(`${here.env.MODEL_HUB}/${NAME}`);
      await page.getByLabel('Context (tokens)').fill('4096');
      await page.keyboard.press('Enter');
      await page.getByText('7.6 billion parameters at 16 bits').waitFor();
      await page.getByText('4 × 4,096 tokens').waitFor();
      await expectSound(page);

      const machines = page.getByRole('radio', { name: /^Choose / });
      const rows = await page.locator('.fits tbody tr').evaluateAll((each) =>
        each.map((row) => ({
          isRecommended: row.querySelector('.badge')?.textContent === 'Recommended',
          speed: row.querySelector('.fit-speed')!.textContent,
        })),
      );
      expect(rows.length).toBeGreaterThan(2);
      expect(rows.map(({ isRecommended }) => isRecommended)).toEqual(rows.map((_, place) => place === 0));
      expect(rows.filter(({ speed }) => !/^[\d,]{3,}$/.test(speed))).toEqual([]);
      await page.getByText(/^Best bandwidth per USD on (one\sGPU|\d\sGPUs): [\d,]+\sGB\/s$/).waitFor();
      expect(await machines.first().isChecked()).toBe(true);
      await page.getByRole('button', { name: 'Cheapest' }).click();
      // Machines with a host agent come first, in any order.
      const prices = await page.locator('.fits tr:has(.badge[title]) td:last-child').allTextContents();
      expect(prices).toEqual(prices.toSorted((one, other) => Number(one) - Number(other)));
      expect(await machines.first().isChecked()).toBe(true);
      expect(new URL(page.url()).searchParams.get('order')).toBe('cheapest');
      // A model with 28 attention heads and 4 key-value heads.
      await page
        .getByRole('radio', { name: /^Choose 2 × / })
        .first()
        .check();
      await page.getByRole('button', { name: 'Deploy', exact: true }).click();
      await page.getByRole('radio', { name: /^vLLM/ }).waitFor();
      expect(await page.getByRole('radio', { name: /^vLLM/ }).isChecked()).toBe(true);
      expect(await page.locator('input[name="env.MODEL"]').inputValue()).toBe(NAME);
      expect(await page.getByLabel('Command (replaces the template’s)').inputValue()).toBe(
        "--model '$(MODEL)' --tensor-parallel-size 2 --max-model-len 4096",
      );
      expect(await page.locator('input[name="disk"]').inputValue()).toBe('60');
      await page.getByRole('heading', { level: 1, name: 'Deploy' }).waitFor();
      expect(new URL(page.url()).searchParams.get('machine')).toMatch(/^m-/);
      expect(complaints).toEqual([]);
    });
  });

  it('takes a pasted config.json, and shows why one is refused', async () => {
    await here.pages.with('/models', null, async ({ page, complaints }) => {
      await page.locator('summary', { hasText: /^config\.json/ }).click();
      const config = page.getByLabel('Contents of config.json');
      await config.fill('{"hidden_size": "x"}');
      await page.getByText('config.num_hidden_layers is missing').waitFor();
      await config.fill('');
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.evaluate((text) => navigator.clipboard.writeText(text), JSON.stringify(QWEN_7B));
      await config.press('ControlOrMeta+v');
      await page.getByRole('heading', { level: 2, name: '7.6 billion parameters' }).waitFor();
      await page.getByText('Uses config.json').waitFor();
      expect(await config.count()).toBe(0);
      expect(await page.getByRole('button', { name: 'Deploy', exact: true }).count()).toBe(0);
      await page.getByRole('button', { name: 'Name the model' }).click();
      expect(new URL(page.url()).pathname).toBe('/models');
      expect(await page.evaluate(() => (document.activeElement as HTMLInputElement).name)).toBe('model');
      await page.getByRole('textbox', { name: 'Model', exact: true }).fill('me/private');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 2, name: 'me/private' }).waitFor();
      await page.getByRole('button', { name: 'Deploy', exact: true }).click();
      expect(await page.locator('input[name="env.MODEL"]').inputValue()).toBe('me/private');
      expect(hub.pathsOf('me/private')).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });

  it('starts with a well-known model, which it reads at the hub', async () => {
    await here.pages.with('/models', null, async ({ page, complaints }) => {
      await page.getByRole('button', { name: 'Qwen2.5 7B' }).click();
      await page.getByText('7.6 billion parameters at 16 bits').waitFor();
      expect(await page.getByRole('textbox', { name: 'Model', exact: true }).inputValue()).toBe(NAME);
      expect(complaints).toEqual([]);
    });
  });
});
