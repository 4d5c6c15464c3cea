import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gpu } from '../../support/cli/command.js';
import type { Renter } from '../../support/gateway.js';
import { cleanUp, type Env, folder } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';
import { startReceiver } from '../../support/webhooks/receiver.js';

const PATIENCE = { timeout: 30_000, interval: 50 };

let service: Service;
let renter: Renter;
let env: Env;

beforeAll(async () => {
  service = await startService({ webhookNetworks: ['127.0.0.0/8'], secretsKeys: ['ab'.repeat(32)] });
  service.clock.set(new Date().toISOString());
  renter = await service.renter('100');
  env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${service.address}/v1`, GPU_API_KEY: renter.key };
});
afterAll(async () => {
  await service.close();
  await cleanUp();
});

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await gpu(args, env);
  expect([args, code, code === 0 ? '' : stderr]).toEqual([args, 0, '']);
  return stdout;
}

describe('gpu webhook', () => {
  it('manages webhooks, redelivers events and rotates secrets', async () => {
    const target = await startReceiver();
    const made = await gpu(['webhook', 'create', target.url, '--event', 'instance.stopped,webhook.test'], env);
    expect(made.stdout).toMatch(/^whsec_[A-Za-z0-9+/=]+\n$/);
    const [{ id, events }] = JSON.parse(await run('webhook', 'list', '--json'));
    expect(events).toEqual(['instance.stopped', 'webhook.test']);
    expect(await run('webhook', 'test', id)).toContain(`a test event has been sent to ${id}`);
    await expect.poll(() => target.types(), PATIENCE).toEqual(['webhook.test']);
    expect(target.verify(made.stdout.trim(), target.received[0]!)).toMatchObject({ type: 'webhook.test' });
    // An attempt is recorded once it has received a response.
    const attempts = async () => JSON.parse(await run('webhook', 'attempts', id, '--json'));
    await expect.poll(async () => (await attempts()).length, PATIENCE).toBe(1);
    const [{ eventId, status }] = await attempts();
    expect(status).toBe(200);
    expect(await run('webhook', 'attempts', id)).toContain(eventId);
    await run('webhook', 'redeliver', id, eventId);
    await expect.poll(() => target.types().length, PATIENCE).toBe(2);

    const rotated = (await run('webhook', 'rotate-secret', id)).trim();
    expect([/^whsec_/.test(rotated), rotated === made.stdout.trim()]).toEqual([true, false]);
    const old = await gpu(['webhook', 'turn-secret', id], env);
    expect(old.stderr).toBe('gpu: webhook turn-secret is deprecated; use webhook rotate-secret\n');
    expect([/^whsec_/.test(old.stdout), old.stdout.trim() === rotated]).toEqual([true, false]);
    expect((await gpu(['webhook', '--help'], env)).stdout).not.toContain('turn-secret');
    await run('webhook', 'pause', id);
    expect(await run('webhook', 'list')).toMatch(/paused/);
    await run('webhook', 'resume', id);
    expect(await run('webhook', 'list')).toContain('active');
    expect(await run('webhook', 'low-balance', '20')).toContain('20 USD');
    const wrong = await gpu(['webhook', 'low-balance', 'much'], env);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('threshold must be an amount in USD or "off"; got much'),
    ]);
    expect(await run('webhook', 'low-balance', 'off')).toContain('disabled');
    await run('webhook', 'delete', id);
    expect(JSON.parse(await run('webhook', 'list', '--json'))).toEqual([]);
    const refused = await gpu(['webhook', 'create', 'ftp://example.com/'], env);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('url')]);
    await target.close();
  });
});

describe('gpu mail', () => {
  it('reports that no address is set and that the service sends no mail', async () => {
    expect(JSON.parse(await run('mail', 'show', '--json'))).toBeNull();
    // Remarks are shown only on terminals.
    expect(await run('mail', 'show')).toBe('');
    const refused = await gpu(['mail', 'set', 'ann@example.com'], env);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/mail/)]);
  });
});

describe('gpu timeline', () => {
  it("shows an instance's history page by page, with the newest entry last", async () => {
    const { id } = (await renter.rest('POST', '/instances', { machine_id: await service.machine() })).body;
    await service.sql(
      `insert into activity (account_id, at, key_id, is_session, address, operation, targets)
       select account_id, created_at + n * interval '1 second', 'key-0', false, '::1', 'setSpendLimit', array[id]
       from instance, generate_series(1, 101) n where id = $1`,
      [id],
    );
    service.clock.advance(200);
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    const rows = async (...args: string[]) => JSON.parse(await run('timeline', id, '--json', ...args));
    const kinds = (entries: { kind: string }[]) => entries.map(({ kind }) => kind);
    const all = await rows('--limit', '1000');
    expect(kinds(all)).toEqual(['rented', ...Array(101).fill('changed'), 'stopped']);
    expect(new Set(all.map(({ cursor }: { cursor: string }) => cursor)).size).toBe(103);
    expect(await rows()).toEqual(all.slice(-50));
    const lines = (await run('timeline', id, '--limit', '2')).trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^TIME +EVENT +DETAILS +KEY +ADDRESS$/),
      expect.stringMatching(/^20\S+Z +changed +setSpendLimit +key-/),
      expect.stringMatching(/^20\S+Z +stopped +requested by its owner; ran for \d+ s, 0\.\d+ USD for its GPUs +key-/),
    ]);
    const unknown = await gpu(['timeline', 'i-00000000'], env);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('no such instance (not_found)')]);
  });
});

describe('gpu activity', () => {
  it('shows requests and refusals, newest first, and accepts filters', async () => {
    const { id } = (await renter.rest('POST', '/instances', { machine_id: await service.machine() })).body;
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    expect((await renter.rest('POST', '/instances', { machine_id: 'm-00000000' })).status).toBeGreaterThan(399);
    // Refusals are written within a second.
    const rows = async (...args: string[]) => JSON.parse(await run('activity', '--json', ...args));
    await expect.poll(async () => (await rows('--refused', '--operation', 'deploy')).length, PATIENCE).toBe(1);
    const about = await rows('--about', id);
    expect(about.map(({ operation, code }: { operation: string; code: null }) => [operation, code])).toEqual([
      ['stop', null],
      ['deploy', null],
    ]);
    expect(await rows('--limit', '1')).toHaveLength(1);
    expect(await rows('--key', 'key-0000000000000000')).toEqual([]);
    const shown = await run('activity');
    expect(shown).toMatch(/^TIME +OPERATION +TARGETS +RESULT/);
    expect(shown).toContain(id);
    const wrong = await gpu(['activity', '--limit', '0'], env);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('a whole number from 1 to')]);
  });
});
