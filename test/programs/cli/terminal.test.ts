import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { gpuInTerminal, readable, SPINNER } from '../../support/cli/gpu.js';
import { openWire, refusal, type Wire } from '../../support/client-wire.js';
import type { Renter } from '../../support/gateway.js';
import { cleanUp, type Env, folder } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';
import { needs } from '../../support/tools.js';

const SNAPSHOTS = join(import.meta.dirname, '__snapshots__');
const ESCAPE = '\u001b';
const HIDE_CURSOR = `${ESCAPE}[?25l`;

/** On other systems `script` has different options. */

describe('the gpu command in a terminal', needs('script'), () => {
  let service: Service;
  let wire: Wire;
  let renter: Renter;
  let env: Env;

  beforeAll(async () => {
    service = await startService();
    wire = await openWire(service.address);
    renter = await service.renter();
    env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${service.address}/v1`, GPU_API_KEY: renter.key };
  });
  afterAll(async () => {
    await wire.close();
    await service.close();
    await cleanUp();
  });

  async function rent(gpu = 'rtx-4090'): Promise<string> {
    const [offer] = (await renter.rest('GET', `/offers?gpu=${gpu}&limit=1`)).body.data;
    return (await renter.rest('POST', '/instances', { machine_id: offer.machine_id })).body.id;
  }

  async function told(args: string[], columns = 120, more: Env = {}): Promise<string> {
    const { code, stdout } = await gpuInTerminal(args, { ...env, ...more }, { columns }).ended;
    return readable(`$ gpu ${args.join(' ')}\n${stdout}exit code ${code}\n`);
  }

  it('shows units, colours and as many columns as fit', async () => {
    const offers = ['offers', '--gpu', 'rtx-4090', '--limit', '3'];
    await expect(
      [
        await told(offers, 160),
        await told(offers, 80),
        await told(offers, 80, { NO_COLOR: '1' }),
        await told(['offers', '--gpu', 'no-such-gpu']),
      ].join('\n'),
    ).toMatchFileSnapshot(join(SNAPSHOTS, 'offers.terminal.txt'));
    const { stdout } = await gpuInTerminal(['pricing'], env, { columns: 100 }).ended;
    const lines = readable(stdout).split('\n');
    await expect([...lines.slice(0, 8), '…', ...lines.slice(-3)].join('\n')).toMatchFileSnapshot(
      join(SNAPSHOTS, 'pricing.terminal.txt'),
    );
    for (const line of stdout
      .replace(SPINNER, '')
      .replaceAll(new RegExp(`${ESCAPE}\\[[\\d;?]*[a-zA-Z]`, 'g'), '')
      .split('\r\n')) {
      expect(line.length).toBeLessThanOrEqual(100);
    }
  });

  it('shows each step of a rental from deploy to destroy', async () => {
    const [offer] = (await renter.rest('GET', '/offers?gpu=rtx-4090&limit=1')).body.data;
    const screens = [await told(['instances']), await told(['deploy', offer.machine_id, '--type', 'interruptible'])];
    const { id } = (await renter.rest('GET', '/instances')).body.data[0];
    service.clock.advance(60);
    screens.push(
      await told(['stop', id]),
      await told(['instances']),
      await told(['stop', id]),
      await told(['balance']),
    );
    screens.push(await told(['destroy', id, '--yes']), await told(['show', id]));
    await expect(screens.join('\n')).toMatchFileSnapshot(join(SNAPSHOTS, 'rental.terminal.txt'));
  });

  it.each([
    ['y', 0, 'destroyed'],
    ['yes', 0, 'destroyed'],
    ['', 2, 'running'],
  ])('asks before destroying an instance and, on the reply %j, exits with %i', async (answer, code, status) => {
    const id = await rent();
    const program = gpuInTerminal(['destroy', id], env);
    await program.says(/\[y\/N\] /);
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('running');
    program.stdin.write(`${answer}\r`);
    const ended = await program.ended;
    expect(ended.code).toBe(code);
    expect(ended.stdout).toMatch(
      /Destroy i-\w{8} \(running, 1 x rtx-4090 in [\w-]+, pytorch\) and erase its 50 GB disk\?/,
    );
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe(status);
    await renter.rest('DELETE', `/instances/${id}`);
  });

  it.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('destroys nothing when %s interrupts the prompt', async (_, key) => {
    const id = await rent();
    const program = gpuInTerminal(['destroy', id], env);
    await program.says(/\[y\/N\] /);
    program.stdin.write(key);
    expect((await program.ended).code).toBe(130);
    expect((await renter.rest('GET', `/instances/${id}`)).body.status).toBe('running');
    await renter.rest('DELETE', `/instances/${id}`);
  });

  it('asks for the key at login without echoing it', async () => {
    const home = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: env.GPU_BASE_URL! };
    const program = gpuInTerminal(['login'], home);
    await program.says(/API key for .*: /);
    program.stdin.write(`${renter.key}\r`);
    const { code, stdout } = await program.ended;
    expect(code).toBe(0);
    expect(stdout).not.toContain(renter.key.slice(9, 30));
    expect(existsSync(join(home.XDG_CONFIG_HOME, 'gpu/config.json'))).toBe(true);
    const text = readable(stdout).replace(/balance \S+ USD/, 'balance ······ USD');
    await expect(text).toMatchFileSnapshot(join(SNAPSHOTS, 'login.terminal.txt'));
  });

  it('repaints in place and picks up changes with --watch', async () => {
    const id = await rent();
    wire.next('pass', 'pass', 'pass', refusal(503, 'unavailable', '600'));
    const program = gpuInTerminal(['instances', '--watch', '1'], { ...env, GPU_BASE_URL: wire.baseUrl });
    await program.says(/running/);
    await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    await program.says(/stopped/);
    await program.says(/unavailable; showing the last known state/);
    program.stdin.write('\u0003');
    expect((await program.ended).code).toBe(130);
    const frames = program.stdout().split(`${ESCAPE}[H`);
    expect(frames[0]).toBe(`${ESCAPE}[2J`);
    expect(program.stdout().split(`${ESCAPE}[2J`)).toHaveLength(2);
    const first = readable(frames[1]!).replace(/\d\d:\d\d:\d\d;/, '··:··:··;');
    await expect(first).toMatchFileSnapshot(join(SNAPSHOTS, 'watch.terminal.txt'));
    await renter.rest('DELETE', `/instances/${id}`);
  });

  it('shows at most as many lines with --watch as the terminal has', async () => {
    const program = gpuInTerminal(['offers', '--watch'], env, { rows: 12 });
    await program.says(/… \d+ more/);
    program.stdin.write('\u0003');
    await program.ended;
    const frame = program.stdout().split(`${ESCAPE}[H`)[1]!;
    expect(frame.split('\n').length).toBeLessThanOrEqual(12);
    expect(readable(frame)).toContain('… 18 more');
  });

  it('shows a spinner and the reason while it waits, then removes both', async () => {
    wire.next(refusal(503, 'unavailable', '1'));
    const { stdout, code } = await gpuInTerminal(['balance'], { ...env, GPU_BASE_URL: wire.baseUrl }).ended;
    expect(code).toBe(0);
    expect(stdout).toContain(HIDE_CURSOR);
    expect(stdout).toContain('unavailable; trying again in');
    expect(stdout).toContain(`${ESCAPE}[?25h`);
    expect(readable(stdout)).toMatch(/^<dim>Balance /);
  });

  it('prints the key and removes the spinner on Ctrl-C during a deploy', async () => {
    wire.next('hang');
    const program = gpuInTerminal(['deploy', await service.machine()], { ...env, GPU_BASE_URL: wire.baseUrl });
    onTestFinished(() => program.signal('SIGKILL'));
    await program.says(/Waiting for the service/);
    program.stdin.write('\u0003');
    const { code, stdout } = await program.ended;
    expect([code, readable(stdout)]).toEqual([
      130,
      expect.stringMatching(/^(\^C)?<red>gpu:<\/> interrupted; .* --idempotency-key [0-9a-f-]{36} .*\n$/),
    ]);
    expect(stdout.lastIndexOf(`${ESCAPE}[?25h`)).toBeGreaterThan(stdout.lastIndexOf(HIDE_CURSOR));
  });

  it('ends --json output with a newline', async () => {
    const { stdout } = await gpuInTerminal(['offers', '--json', '--limit', '1'], env).ended;
    const body = await fetch(`${service.address}/v1/offers?limit=1`).then((response) => response.text());
    // The response is slow enough for the spinner to appear.
    expect(stdout.replace(SPINNER, '')).toBe(`${body}\r\n`);
  });
});
