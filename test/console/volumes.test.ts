import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OpenConsole } from '../support/console/open-console.js';
import { expectSound, expectSoundInLongRun } from '../support/console/pages.js';
import { needs } from '../support/tools.js';

describe('volumes in the console', needs('chromium'), () => {
  let here: OpenConsole;

  beforeAll(async () => {
    here = await OpenConsole.shared();
  });
  afterAll(() => here?.close());

  it('are created, enlarged and deleted at the displayed price', async () => {
    const renter = await here.renter('100');
    const sizes = async () => {
      const { body } = await renter.graphql('{ volumes { name sizeGb priceHr } }');
      return body.data.volumes;
    };
    await here.pages.with('/volumes', renter, async ({ page, complaints }) => {
      await page.getByText('No volumes yet').waitFor();
      await page.getByRole('button', { name: 'New volume' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('data <b>');
      await dialog.getByLabel('Size (GB)').fill('50');
      await dialog.getByText('0.005 USD per hour').waitFor();
      await dialog.getByRole('button', { name: 'Create volume' }).click();
      await page.getByRole('rowheader', { name: /data <b>/ }).waitFor();
      expect(await sizes()).toEqual([{ name: 'data <b>', sizeGb: 50, priceHr: 0.005 }]);

      await page.getByRole('button', { name: 'Actions for data <b>' }).click();
      await page.getByRole('menuitem', { name: 'Grow data <b>' }).click();
      await dialog.getByLabel('Size (GB)').fill('60');
      await dialog.getByText('It will cost 0.006 USD per hour.').waitFor();
      await dialog.getByRole('button', { name: 'Grow', exact: true }).click();
      await page.getByText('0 of 60 GB', { exact: true }).waitFor();
      await page.getByText('≈ 4.32 USD per month').first().waitFor();
      expect(await sizes()).toEqual([{ name: 'data <b>', sizeGb: 60, priceHr: 0.006 }]);

      await page.getByRole('button', { name: 'Actions for data <b>' }).click();
      await page.getByRole('menuitem', { name: 'Delete data <b>' }).click();
      await dialog.getByRole('button', { name: 'Delete permanently' }).click();
      await page.getByText('No volumes yet').waitFor();
      expect(await sizes()).toEqual([]);
      expect(complaints).toEqual([]);
    });
  });

  it('show their holders, snapshots and passwords, and can be deleted only when free', async () => {
    const renter = await here.renter('100');
    const create = 'mutation { createVolume(input: { name: "work", sizeGb: 10 }) { id } }';
    const { id } = (await renter.graphql(create)).body.data.createVolume;
    await here.sql(
      `insert into volume_snapshot (volume_id, id, at, size_bytes) values ($1, repeat('ab', 32), now(), 1500000000)`,
      [id],
    );
    await here.sql('update volume set stored_bytes = 1500000000 where id = $1', [id]);
    await here.pages.with('/volumes', renter, async ({ page, complaints }) => {
      const dialog = page.getByRole('dialog');
      await page.getByText('1.5 of 10 GB').waitFor();
      await page.getByText('15% of the size').waitFor();
      await page.getByText('1 not attached').waitFor();
      await page.getByRole('button', { name: 'Actions for work', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Snapshots work', exact: true }).click();
      await dialog.getByText('1.5 GB').waitFor();
      await dialog.getByText('your own restic').waitFor();
      await dialog.getByRole('button', { name: 'Create volume from it' }).click();
      await dialog.getByText('It starts with the contents of snapshot abababab of work').waitFor();
      await dialog.getByLabel('Name').fill('work of yesterday');
      await dialog.getByRole('button', { name: 'Create volume' }).click();
      await page.getByRole('rowheader', { name: /work of yesterday/ }).waitFor();

      await page.getByRole('button', { name: 'Actions for work', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Copy data work', exact: true }).click();
      await dialog.getByText(`/volumes/${id}/`).waitFor();
      await dialog.getByRole('button', { name: 'Show password' }).click();
      const password = (await renter.graphql(`{ volumePassword(id: "${id}") }`)).body.data.volumePassword;
      await dialog.getByText(`export RESTIC_PASSWORD=${password}`).waitFor();
      await page.keyboard.press('Escape');

      await here.sql(
        `update volume set lease = 1, lease_instance_id = 'i-00000001', lease_nonce = 'n', lease_since = now() where id = $1`,
        [id],
      );
      await page.reload();
      await page.getByRole('link', { name: 'i-00000001' }).waitFor();
      await page.getByRole('button', { name: 'Actions for work', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Delete work', exact: true }).click();
      await dialog.getByText('stop or destroy the instance first').waitFor();
      await dialog.getByRole('button', { name: 'Delete permanently' }).click();
      await dialog
        .getByRole('alert')
        .getByText(/in use/)
        .waitFor();
      await expectSound(page, 'dialog');
      expect(complaints).toEqual([]);
    });
  });

  it('can each be selected once per deploy, unless another instance holds them', async () => {
    const renter = await here.renter('100');
    const create = (name: string) =>
      renter.graphql(`mutation { createVolume(input: { name: "${name}", sizeGb: 10 }) { id } }`);
    const both = [await create('one'), await create('two')].map(({ body }) => body.data.createVolume.id);
    await here.pages.with('/volumes', renter, async ({ page, complaints }) => {
      await page.getByRole('button', { name: 'Deploy with it: one' }).click();
      const deploy = page.getByRole('button', { name: /^Deploy for/ });
      await page.getByText('Disk and volumes').click();
      const chosen = [await page.getByLabel('Volume of volume 1').inputValue()];
      expect(await page.getByLabel('Path of volume 1').inputValue()).toBe('/workspace');
      await page.getByRole('button', { name: 'Add volume' }).click();
      chosen.push(await page.getByLabel('Volume of volume 2').inputValue());
      expect(chosen.sort()).toEqual(both.sort());
      await page.getByLabel('Path of volume 2').fill('/workspace');
      await page
        .getByText(/must differ from the one in entry 0/)
        .first()
        .waitFor();
      await page.getByLabel('Path of volume 2').fill('/data');
      await deploy.click();
      await page.getByRole('heading', { level: 1, name: /i-[0-9a-f]{8}/ }).waitFor();
      expect(complaints).toEqual([]);
    });
    const { body } = await renter.graphql('{ volumes { inUseBy } instances { id } }');
    const [{ id }] = body.data.instances;
    expect(body.data.volumes).toEqual([{ inUseBy: id }, { inUseBy: id }]);
    await here.pages.with('/deploy', renter, async ({ page }) => {
      await page.getByText('Disk and volumes').click();
      await page.getByRole('button', { name: 'Add volume' }).click();
      await page.getByLabel('Volume of volume 1').selectOption({ index: 1 });
      await page.getByText(`in use by instance ${id}`).waitFor();
      expect(await page.getByRole('button', { name: /^Deploy/ }).getAttribute('aria-disabled')).toBe('true');
    });
  });

  it('move to another host with their instance only once and within the agreed price', async () => {
    const renter = await here.renter('100');
    const create = 'mutation { createVolume(input: { name: "work", sizeGb: 10 }) { id } }';
    const { id } = (await renter.graphql(create)).body.data.createVolume;
    const deploy = 'mutation ($input: DeployBestInput!) { deployBest(input: $input) { id } }';
    const input = { gpus: ['rtx-4090'], volumes: [{ id, path: '/data' }] };
    const old = (await renter.graphql(deploy, { input })).body.data.deployBest.id;
    await here.pages.with(`/instances/${old}`, renter, async ({ page, complaints }) => {
      const dialog = page.getByRole('dialog');
      const panel = page.getByRole('region', { name: 'Volumes' });
      await panel.getByText('no snapshot yet').waitFor();
      expect(await panel.getByRole('button', { name: 'Move to another host' }).count()).toBe(0);
      await renter.rest('POST', `/instances/${old}/actions`, { action: 'stop' });
      await panel.getByText('all changes are saved').waitFor();
      await panel.getByRole('button', { name: 'Move to another host' }).click();
      await dialog.getByLabel('Maximum price (USD/h)').fill('0.000001');
      await dialog.getByRole('button', { name: 'Move', exact: true }).click();
      await dialog.getByText(/^No other host that supports volumes has/).waitFor();
      await dialog.getByLabel('Maximum price (USD/h)').fill('9');
      await dialog.getByRole('button', { name: 'Move', exact: true }).dblclick();
      await page.waitForURL((url) => /i-[0-9a-f]{8}$/.test(url.pathname) && !url.pathname.endsWith(old));
      await panel.getByText('/data').waitFor();
      await expectSoundInLongRun(page);
      expect(complaints.filter((each) => !each.includes('422'))).toEqual([]);
    });
    const { body } = await renter.graphql('{ instances { id status } volumes { inUseBy } }');
    const running = body.data.instances.filter(({ status }: { status: string }) => status === 'RUNNING');
    expect(running).toHaveLength(1);
    expect(body.data.volumes).toEqual([{ inUseBy: running[0].id }]);
  });
});
