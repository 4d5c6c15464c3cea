import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { creditAccount } from '../../src/domain/accounts/accounts.js';
import { OpenConsole } from '../support/console/open-console.js';
import { commandsIn } from '../support/console/screen-look.js';
import { Faults, openTenant, type Tenant, walk } from '../support/console/walk.js';
import { needs } from '../support/tools.js';

const LONG_MS = 600_000;

/**
 * A long text with markup and with characters that change the direction of text or begin a terminal command. As markup,
 * `<>` would disappear.
 */
function hostile(field: string, long = 10_000): string {
  const head = `<img src=x onerror="window.pwned=1"><b>${field}</b>\u202e\u009b31m\u2066\u0007`;
  return head + 'w'.repeat(long - head.length);
}

describe('all screens', needs('chromium'), () => {
  let here: OpenConsole;
  let tenant: Tenant;

  beforeAll(async () => {
    here = await OpenConsole.shared();
    tenant = await openTenant(here);
  }, LONG_MS);
  afterAll(async () => {
    // This text is shown to all accounts.
    await here?.sql(`delete from template where slug = 'hostile'`);
    await here?.close();
  });

  it(
    'show hostile text from others as plain text in every field, at any length',
    async () => {
      const { owner, id, machineId } = tenant;
      const ours = [owner.accountId];
      const fields: Record<string, () => Promise<unknown>> = {
        volume: () => here.sql('update volume set name = $2 where account_id = $1', [...ours, hostile('volume')]),
        webhook: () =>
          here.sql('update webhook set url = $2 where account_id = $1', [
            ...ours,
            `http://127.0.0.1/${hostile('webhook')}`,
          ]),
        'ssh-key': () =>
          here.sql('update ssh_key set comment = $2 where account_id = $1', [...ours, hostile('ssh-key')]),
        'api-key': () => here.sql('update api_key set name = $2 where account_id = $1', [...ours, hostile('api-key')]),
        saved: () =>
          here.sql('update saved_template set name = $2, description = $3 where account_id = $1', [
            ...ours,
            hostile('saved'),
            hostile('saved-description'),
          ]),
        template: () =>
          here.sql(
            `insert into template (slug, image, title, description, category, position)
             values ('hostile', 'a/b:c', $1, $2, $3, 900)`,
            [hostile('template'), hostile('template-description'), hostile('category', 200)],
          ),
        cpu: () => here.sql('update machine set cpu = $2 where id = $1', [machineId, hostile('cpu')]),
        message: () =>
          here.sql(`update container set phase = 'FAILED', message = $2 where instance_id = $1`, [
            id,
            hostile('message'),
          ]),
        label: () =>
          here.sql(`update instance set labels = jsonb_build_object('key', $2::text) where id = $1`, [
            id,
            hostile('label'),
          ]),
        note: () =>
          creditAccount(here.deps, owner.accountId, {
            amountMicro: 1_000_000n,
            note: hostile('note', 900).replaceAll('\u0007', ''),
          }),
        activity: () =>
          here.sql('update activity set targets = array[$2] where account_id = $1', [...ours, hostile('activity')]),
      };
      for (const [field, write] of Object.entries(fields))
        await write().catch((error) => Promise.reject(new Error(`${field}: ${error.message}`)));
      const faults = new Faults();
      const unseen = new Set(Object.keys(fields));
      const { complaints } = await walk(here, tenant, 'en', async (visited) => {
        const { page, path } = visited;
        // Templates beyond the first few are shown on request.
        const templates = page.locator('[aria-labelledby="deploy-template"] button[aria-expanded="false"]');
        if (await templates.isVisible()) await templates.click();
        // Folded sections have no text.
        await page.evaluate(() => {
          for (const fold of document.querySelectorAll('details')) fold.open = true;
        });
        const text = await page.locator('body').innerText();
        const labels = await page
          .locator('[aria-label], [title]')
          .evaluateAll((all) => all.map((each) => `${each.getAttribute('aria-label')} ${each.getAttribute('title')}`));
        for (const field of [...unseen])
          if (`${text} ${labels.join(' ')}`.includes(`<b>${field}</b>\\u202e\\u009b31m`)) unseen.delete(field);
        faults.add(path, 'commands', await commandsIn(page));
        const made = await page.evaluate(() => [
          ...('pwned' in window ? ['a script has run'] : []),
          ...[...document.querySelectorAll('main img[src="x"], dialog img[src="x"]')].map(() => 'an image was made'),
        ]);
        faults.add(path, 'markup', made);
        await faults.fits(visited);
      });
      expect(faults.found).toEqual([]);
      // Text that isn't shown anywhere hasn't been checked.
      expect([...unseen]).toEqual([]);
      expect(complaints).toEqual([]);
    },
    LONG_MS,
  );
});
