import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { creditAccount } from '../../src/domain/accounts/accounts.js';
import { enrol } from '../../src/domain/fleet/enrolment.js';
import { SCREENS } from '../../src/http/console/page.js';
import { LANGUAGES } from '../../web/texts/languages.js';
import { gpuSampled, sampled, seen } from '../support/agent.js';
import { OpenConsole } from '../support/console/open-console.js';
import { beyondWindow, faultsIn, SOON_MS } from '../support/console/pages.js';
import {
  commandsIn,
  hardToUse,
  mouseOnly,
  movingIn,
  Settling,
  unreachedByKeyboard,
  watchClicks,
} from '../support/console/screen-look.js';
import type { Renter } from '../support/gateway.js';
import { query } from '../support/process.js';
import { newSshKey } from '../support/ssh-key.js';
import { needs } from '../support/tools.js';
import { until } from '../support/until.js';
import { WireAgent } from '../support/wire-agent.js';

const WIDE = { width: 1_400, height: 900 };
/** 1,280 px at 200 % are as 640. */
const NARROW = [320, 640];
const LONG_MS = 600_000;
/** Tabs of one screen lead to others; ranges of a chart are the same screen. */
const MOST_SCREENS = 60;
/** What stands behind an address: of the screens that are more than their address. */
const QUERIES: Record<string, readonly string[]> = {
  '/machines': ['?gpu=rtx-4090', '?gpu=rtx-4090&deploy=best'],
  '/deploy': ['?gpu=rtx-4090'],
  '/launch': ['?template=pytorch&gpu=rtx-4090&env.A=b'],
};
/** Whoever is signed in is led on from there. */
const FOR_STRANGERS = new Set(['/sign-in']);

describe('every screen', needs('chromium'), () => {
  let here: OpenConsole;
  let owner: Renter;
  let agent: WireAgent;
  /** On a machine with an agent. */
  let id: string;

  beforeAll(async () => {
    here = await OpenConsole.open({
      SIGNUP: 'open',
      SECRETS_KEY: 'ab'.repeat(32),
      WEBHOOK_NETWORKS: '127.0.0.1',
    });
    owner = await here.renter('500');
    const { code } = await enrol(here.deps, { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false });
    agent = await WireAgent.join(here.gateway.address, code);
    await agent.report();
    const rent = () => owner.rest('POST', '/instances', { machine_id: agent.machineId });
    await until('the machine is offered', async () => (await rent()).status === 201, SOON_MS);
    [{ id }] = (await owner.rest('GET', '/instances')).body.data;
    await agent.desired();
    const samples = [50, 40, 30, 20, 10, 0].map((age) =>
      sampled(id, { age, cpuPercent: 40, memoryUsedBytes: 2_500_000_000, gpus: [gpuSampled({ busyPercent: 97 })] }),
    );
    await agent.report([seen(id, 'RUNNING')], { samples });
    for (const text of [
      'mutation { deployBest(input: { gpus: ["t4"] }) { id } }',
      'mutation { createVolume(input: { name: "data", sizeGb: 10 }) { id } }',
      `mutation { addSshKey(publicKey: "${newSshKey('laptop')}") { id } }`,
      'mutation { createApiKey(name: "laptop") { secret } }',
      'mutation { createSecret(input: { name: "HF_TOKEN", value: "abc" }) { name } }',
      'mutation { createWebhook(url: "http://127.0.0.1:9/hook") { secret } }',
      'mutation { saveTemplate(input: { name: "mine", description: "A try", template: "pytorch", diskGb: 20 }) { name } }',
    ])
      await asked(text);
    const [{ id: other }] = (await owner.rest('GET', '/instances')).body.data.filter(
      (each: { id: string }) => each.id !== id,
    );
    await owner.rest('DELETE', `/instances/${other}`);
    await asked('mutation { deployBest(input: { gpus: ["a40"] }) { id } }');
  }, LONG_MS);
  afterAll(() => here?.close());

  async function asked(text: string): Promise<void> {
    const { body } = await owner.graphql(text);
    if (body.errors) throw new Error(`${text}: ${body.errors[0].message}`);
  }

  const sql = (text: string, values: unknown[] = []) => query(here.env.DATABASE_URL!, text, values);

  interface Visited {
    page: Page;
    path: string;
    /** A dialog, where one is open: what lies behind it is looked at on its own. */
    within: string;
  }

  /** Goes through all screens in one page: those that the gateway serves, with the tabs that they lead to. */
  async function walk(
    who: Renter | null,
    language: string,
    look: (visited: Visited) => Promise<void>,
  ): Promise<{ paths: string[]; complaints: string[] }> {
    const context = await here.pages.context(who, { locale: language });
    await watchClicks(context);
    const { page, complaints } = await here.pages.visit('/', context);
    const settling = new Settling(page);
    const addresses = ['/', ...SCREENS].filter((each) => who === null || !FOR_STRANGERS.has(each));
    // Of what stands behind an address strangers see the same parts as whoever is signed in.
    const queries = (each: string) => (who === null ? [] : (QUERIES[each] ?? []));
    const todo = addresses.flatMap((each) => ['', ...queries(each)].map((more) => each.replace(':id', id) + more));
    /** Pages looked at: many an address shows strangers the same form. */
    const looked = new Set<string>();
    for (const path of todo) {
      await page.setViewportSize(WIDE);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(here.gateway.address + path);
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
    await context.close();
    // The host of the instance has no tunnel: of its files and its log nobody tells, nor once its container has failed.
    const isUntold =
      /status of (503|409) .* of \/(console\/(files|logs)\/\S+|graphql) on \/instances\/\S+tab=(files|log)/;
    return { paths: todo, complaints: complaints.filter((each) => !isUntold.test(each)) };
  }

  /** What the look at each screen finds, so that one run tells of all faults. */
  const faults: string[] = [];
  const check = (path: string, what: string, found: readonly unknown[]) => {
    for (const each of found) faults.push(`${path}, ${what}: ${each}`);
  };
  const narrow = async (page: Page, path: string) => {
    for (const width of NARROW) {
      await page.setViewportSize({ ...WIDE, width });
      const beyond = await beyondWindow(page);
      check(path, `${width} px`, beyond > 0 ? [`${beyond} px too wide`] : []);
      check(path, `${width} px`, await hardToUse(page));
    }
  };

  it.each(
    LANGUAGES.flatMap(({ code }) => [
      [code, 'signed in'],
      [code, 'signed out'],
    ]),
  )(
    'in %s, %s: is sound to axe in both themes, fits 320 px and twice the zoom, moves nothing, and is used by keyboard alone',
    async (language, who) => {
      faults.length = 0;
      const { paths, complaints } = await walk(
        who === 'signed in' ? owner : null,
        language,
        async ({ page, path, within }) => {
          check(
            path,
            'language',
            (await page.locator('html').getAttribute('lang')) === language ? [] : ['another one'],
          );
          check(path, 'title', / · GPU[ -]/.test(await page.title()) ? [] : [await page.title()]);
          // Of a language there are other words, and neither other colours nor other keys.
          const isFirst = language === LANGUAGES[0].code;
          const rules = isFirst ? {} : { rules: { 'color-contrast': { enabled: false } } };
          check(path, 'light', await faultsIn(page, within, rules));
          await narrow(page, path);
          if (!isFirst) return;
          await page.setViewportSize(WIDE);
          await page.emulateMedia({ colorScheme: 'dark' });
          // Scripts of the page hear of it with its next frame.
          await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
          // What is dark differs in its colours alone.
          check(path, 'dark', await faultsIn(page, within, { runOnly: ['color-contrast'] }));
          check(path, 'motion', await movingIn(page));
          check(path, 'mouse', await mouseOnly(page));
          check(path, 'keyboard', await unreachedByKeyboard(page));
        },
      );
      expect(paths.length).toBeGreaterThan(SCREENS.length);
      expect(faults).toEqual([]);
      expect(complaints).toEqual([]);
    },
    LONG_MS,
  );

  it(
    'shows what others wrote as text, however long, in every field',
    async () => {
      /** Markup, characters that turn text or begin a terminal's command, and no end; `<>` would be lost in markup. */
      const hostile = (field: string, long = 10_000) => {
        const head = `<img src=x onerror="window.pwned=1"><b>${field}</b>\u202e\u009b31m\u2066\u0007`;
        return head + 'w'.repeat(long - head.length);
      };
      const ours = [owner.accountId];
      const fields: Record<string, () => Promise<unknown>> = {
        volume: () => sql('update volume set name = $2 where account_id = $1', [...ours, hostile('volume')]),
        webhook: () =>
          sql('update webhook set url = $2 where account_id = $1', [...ours, `http://127.0.0.1/${hostile('webhook')}`]),
        'ssh-key': () => sql('update ssh_key set comment = $2 where account_id = $1', [...ours, hostile('ssh-key')]),
        'api-key': () => sql('update api_key set name = $2 where account_id = $1', [...ours, hostile('api-key')]),
        saved: () =>
          sql('update saved_template set name = $2, description = $3 where account_id = $1', [
            ...ours,
            hostile('saved'),
            hostile('saved-description'),
          ]),
        template: () =>
          sql(`update template set title = $1, description = $2, category = $3 where slug = 'pytorch'`, [
            hostile('template'),
            hostile('template-description'),
            hostile('category', 200),
          ]),
        cpu: () => sql('update machine set cpu = $1', [hostile('cpu')]),
        message: () => sql(`update container set phase = 'FAILED', message = $1`, [hostile('message')]),
        note: () =>
          creditAccount(here.deps, owner.accountId, {
            amountMicro: 1_000_000n,
            note: hostile('note', 900).replaceAll('\u0007', ''),
          }),
        activity: () =>
          sql('update activity set targets = array[$2] where account_id = $1', [...ours, hostile('activity')]),
      };
      for (const [field, write] of Object.entries(fields))
        await write().catch((error) => Promise.reject(new Error(`${field}: ${error.message}`)));
      faults.length = 0;
      const unseen = new Set(Object.keys(fields));
      const { complaints } = await walk(owner, 'en', async ({ page, path }) => {
        const text = await page.locator('body').innerText();
        const labels = await page
          .locator('[aria-label], [title]')
          .evaluateAll((all) => all.map((each) => `${each.getAttribute('aria-label')} ${each.getAttribute('title')}`));
        for (const field of [...unseen])
          if (`${text} ${labels.join(' ')}`.includes(`<b>${field}</b>\\u202e\\u009b31m`)) unseen.delete(field);
        check(path, 'commands', await commandsIn(page));
        const made = await page.evaluate(() => [
          ...('pwned' in window ? ['a script has run'] : []),
          ...[...document.querySelectorAll('main img[src="x"], dialog img[src="x"]')].map(() => 'an image was made'),
        ]);
        check(path, 'markup', made);
        await narrow(page, path);
      });
      expect(faults).toEqual([]);
      // What was shown nowhere was not looked at.
      expect([...unseen]).toEqual([]);
      expect(complaints).toEqual([]);
    },
    LONG_MS,
  );
});
