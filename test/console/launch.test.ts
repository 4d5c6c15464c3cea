import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { expectSound, expectSoundInLongRun, SOON_MS } from '../support/console/pages.js';
import type { Renter } from '../support/gateway.js';
import { needs } from '../support/tools.js';

const VALUE = 'hf_value_that_nobody_sees_again';
const HOSTILE = '<img src=x onerror="window.pwned=1">';
/** A link can't set a term, a machine or values that look different from what they are. */
const LINK = `/launch?${new URLSearchParams([
  ['template', 'vllm'],
  ['gpu', 'rtx-4090'],
  ['mode', 'RESERVED'],
  ['deploy', 'm-00000000'],
  ['env.MODEL', HOSTILE],
  ['env.TURNED', '\u202eabc'],
  ['env.LONG', 'x'.repeat(1_001)],
  ['env.2', 'no name'],
  ['secret', 'HF_TOKEN'],
  ['port', '8000:API'],
  ['command', '--title'],
  ['command', 'my model'],
])}`;

describe("the console's launch page", needs('chromium'), () => {
  let here: OpenConsole;

  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  const deployButton = (page: Page) => page.getByRole('button', { name: /^Deploy for/ });
  const rented = async (of: Renter) => {
    const launch = 'name env secrets { secret variable file } command ports { port name } tcpPorts restart onExit';
    const { body } = await of.graphql('{ instances { id } }');
    const one = async ({ id }: { id: string }) =>
      (await of.graphql(`{ instance(id: "${id}") { mode launch { ${launch} } } }`)).body.data.instance;
    return Promise.all(body.data.instances.map(one));
  };

  it('fills in the form from a link, warns about it and rents only if confirmed', async () => {
    const owner = await here.renter();
    await here.pages.with(LINK, null, async ({ page, requests, complaints }) => {
      await page.getByText('A link filled in this form, and anyone can create such a link.').waitFor();
      await page.getByText('Left out because it is too long or not plain text: env.TURNED, env.LONG, env.2').waitFor();
      const fields = { 'Value of variable 1': HOSTILE, 'Number of port 1': '8000', 'Secret of secret 1': '' };
      for (const [label, value] of Object.entries({
        ...fields,
        'Command (replaces the template’s)': `--title 'my model'`,
      }))
        expect([label, await page.getByLabel(label, { exact: true }).inputValue()]).toEqual([label, value]);
      // Nothing that a link has set is folded.
      expect(await page.getByLabel('Command (replaces the template’s)').isVisible()).toBe(true);
      expect(await page.getByLabel('Disk (GB').isVisible()).toBe(false);
      expect(await page.getByRole('button', { name: /^Remove variable/ }).count()).toBe(1);
      expect(await page.getByRole('radio', { name: /^On demand/ }).isChecked()).toBe(true);

      await page.getByRole('link', { name: 'Sign in to deploy' }).click();
      await page.getByLabel('API key').fill(owner.key);
      await page.keyboard.press('Enter');
      await deployButton(page).waitFor();
      await page.getByText('A link filled in this form').waitFor();
      expect(await page.getByLabel('Secret of secret 1').inputValue()).toBe('');
      expect(requests.filter((request) => /mutation Deploy/.test(request.postData() ?? ''))).toEqual([]);
      await expectSound(page);

      await page.getByRole('button', { name: 'Create secret …' }).click();
      await page.getByLabel('Name', { exact: true }).last().fill('hf');
      await page.getByLabel('Value', { exact: true }).fill(VALUE);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await expect.poll(() => page.getByLabel('Secret of secret 1').inputValue()).toBe('hf');
      await deployButton(page).click();
      await page.getByText('Workload').click();
      await page.getByText(HOSTILE).waitFor();
      await page.getByText('secret hf').waitFor();
      expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
      expect(complaints).toEqual([]);
      expect(requests.filter((request) => (request.postData() ?? '').includes(VALUE))).toHaveLength(1);
      expect(await page.content()).not.toContain(VALUE);
    });
    expect(await rented(owner)).toEqual([
      {
        mode: 'ON_DEMAND',
        launch: {
          name: null,
          env: { MODEL: HOSTILE },
          secrets: [{ secret: 'hf', variable: 'HF_TOKEN', file: null }],
          command: ['--title', 'my model'],
          ports: [{ port: 8000, name: 'API' }],
          tcpPorts: [],
          restart: 'ALWAYS',
          onExit: 'KEEP',
        },
      },
    ]);
    const { headers } = await fetch(here.gateway.address + LINK, { headers: { accept: 'text/html' } });
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    const picture = await fetch(`${here.gateway.address}/launch.svg`);
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
  });

  it('works with only the keyboard and can repeat a deploy', async () => {
    const owner = await here.renter('1000');
    await here.pages.with(
      '/deploy?gpu=rtx-3090',
      owner,
      async ({ page }) => {
        await deployButton(page).waitFor();
        const focused = () =>
          page.evaluate(() => {
            const { ariaLabel, name, innerText } = document.activeElement as HTMLInputElement;
            return ariaLabel || name || innerText;
          });
        const to = async (name: RegExp) => {
          for (let presses = 0; presses < 30 && !name.test(await focused()); presses += 1)
            await page.keyboard.press('Tab');
          expect(await focused()).toMatch(name);
        };
        await to(/^Name, variables/);
        await page.keyboard.press('Enter');
        await to(/^launch-name$/);
        await page.keyboard.type('by-keys');
        await to(/^Add variable/);
        await page.keyboard.press('Enter');
        await page.keyboard.press('Shift+Tab');
        await page.keyboard.press('Shift+Tab');
        await page.keyboard.press('Shift+Tab');
        await page.keyboard.type('MODE');
        await page.keyboard.press('Tab');
        await page.keyboard.type('a=b c');
        await to(/^command$/);
        await page.keyboard.type(`sh -c "exit 3`);
        await page.getByText('Command has an unclosed quote.').waitFor();
        await page.keyboard.type('"');
        await to(/^restart$/);
        await page.keyboard.type('never');
        await to(/^on-exit$/);
        await page.keyboard.type('stop');
        await deployButton(page).waitFor();
        await expectSoundInLongRun(page);
        await to(/^Deploy for/);
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { level: 1, name: /by-keys/ }).waitFor();
        await expectSoundInLongRun(page);
        await page.getByRole('button', { name: 'Actions for by-keys' }).press('Enter');
        await page.getByRole('menuitem', { name: 'Deploy again' }).press('Enter');
        await deployButton(page).press('Enter');
        await expect.poll(async () => (await rented(owner)).length, { timeout: SOON_MS }).toBe(2);
      },
      { width: 390 },
    );
    const [first, second] = await rented(owner);
    expect(first.launch).toMatchObject({ name: 'by-keys', env: { MODE: 'a=b c' }, command: ['sh', '-c', 'exit 3'] });
    expect(first.launch).toMatchObject({ restart: 'NEVER', onExit: 'STOP' });
    expect(second).toEqual(first);
  });

  it('opens the folded section of a value that the service rejects', async () => {
    await here.pages.with('/deploy?gpu=rtx-3080', await here.renter(), async ({ page }) => {
      await deployButton(page).waitFor();
      const minutes = page.getByLabel('Stop when idle for (minutes)');
      expect(await minutes.isVisible()).toBe(false);
      await page.evaluate(() => {
        history.replaceState(null, '', '/deploy?gpu=rtx-3080&idle=2');
        dispatchEvent(new PopStateEvent('popstate'));
      });
      await minutes.waitFor();
      await page.getByText(/stopWhenIdle must be a whole number from 5 to 1440/i).waitFor();
      expect(await page.getByLabel('Disk (GB').isVisible()).toBe(false);
    });
  });

  it('keeps TCP ports when deploying, saving and redeploying', async () => {
    const owner = await here.renter('1000');
    await here.pages.with('/deploy?gpu=rtx-3080', owner, async ({ page }) => {
      await deployButton(page).waitFor();
      await page.getByText('Name, variables, command, ports').click();
      await page.getByRole('button', { name: 'Add TCP port' }).click();
      await page.getByLabel('Number of TCP port 1').fill('22x');
      await page.getByText('Ports must be whole numbers from 1 to 65535.').waitFor();
      await page.getByLabel('Number of TCP port 1').fill('5432');
      await deployButton(page).waitFor();
      await expectSoundInLongRun(page);
      await page.getByText('Code, link and template').click();
      await page.getByLabel('Save as your own template, named').fill('database');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved as database').waitFor();
      await page.goto(`${here.gateway.address}/deploy?gpu=rtx-3080`);
      await page.getByRole('radio', { name: /^database/ }).click();
      await expect.poll(() => page.getByLabel('Number of TCP port 1').inputValue()).toBe('5432');
      await deployButton(page).click();
      await page.getByRole('button', { name: /^Actions for i-/ }).click();
      await page.getByRole('menuitem', { name: 'Deploy again' }).click();
      await deployButton(page).click();
      await expect.poll(async () => (await rented(owner)).length, { timeout: SOON_MS }).toBe(2);
    });
    expect((await rented(owner)).map(({ launch }) => launch.tcpPorts)).toEqual([[5432], [5432]]);
    const { body } = await owner.graphql('{ myTemplates { launch { tcpPorts } } }');
    expect(body.data.myTemplates).toEqual([{ launch: { tcpPorts: [5432] } }]);
  });

  it('lists and deletes secrets, and creates registry logins', async () => {
    const owner = await here.renter();
    await here.pages.with('/keys', owner, async ({ page }) => {
      await page.getByText('No secrets yet').waitFor();
      await page.getByRole('button', { name: 'New secret' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name', { exact: true }).fill('not a name');
      await dialog.getByLabel('Registry login').check();
      await dialog.getByLabel('Registry', { exact: true }).fill('ghcr.io');
      await dialog.getByLabel('Registry username').fill(`a\u202eb`);
      await dialog.getByLabel('Password or token').fill(VALUE);
      await dialog.getByRole('button', { name: 'Save', exact: true }).click();
      await dialog.getByRole('alert').getByText(/name/i).waitFor();
      await dialog.getByLabel('Name', { exact: true }).fill('hub');
      await dialog.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('cell', { name: 'images from ghcr.io, as a\\u202eb' }).waitFor();
      await expectSoundInLongRun(page);
      await page.getByRole('button', { name: 'Actions for hub' }).click();
      await page.getByRole('menuitem', { name: 'Delete hub' }).click();
      await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText('No secrets yet').waitFor();
    });
  });
});
