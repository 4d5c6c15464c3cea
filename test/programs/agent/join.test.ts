import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import { deployLink } from '../../../src/agent/try.js';
import { chooseImage } from '../../../src/agent/try-image.js';
import { runAgent } from '../../support/hosts/agent-process.js';
import { needsEngine, startEngine, type TestEngine } from '../../support/hosts/engines.js';
import { CODE, ScriptedGateway, TOKEN } from '../../support/hosts/scripted-gateway.js';
import { until } from '../../support/until.js';

describe('gpu-agent join', () => {
  const wanted = needsEngine('podman');
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let dir: string;

  beforeAll(async () => {
    engine = await startEngine('podman', []);
    gateway = await ScriptedGateway.open();
    dir = mkdtempSync(join(tmpdir(), 'agent-join-'));
  });
  afterAll(async () => {
    await gateway.close();
    await engine.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const at = (name: string) => ['--data-dir', join(dir, name), '--engine', engine.socket];

  it('reports the host’s hardware and stores a token that only its owner can read', async () => {
    const exit = await runAgent(['join', gateway.url, CODE, '--name', 'host-1', ...at('one')]).ended;
    expect(exit).toMatchObject({ code: 0 });
    expect(exit.stdout).toContain('machine m-test');
    expect(exit.stdout + exit.stderr).not.toContain(TOKEN);
    const [{ hardware, cutOffSeconds }] = gateway.joins as [(typeof gateway.joins)[number]];
    expect(cutOffSeconds).toBe(900);
    expect(hardware).toMatchObject({ hostname: 'host-1', engine: { name: 'podman' }, pretended: false });
    expect(hardware.vcpus).toBeGreaterThan(0);
    expect(['volume', 'none', 'quota']).toContain(hardware.diskLimit);
    const file = join(dir, 'one/machine.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ machineId: 'm-test', token: TOKEN });
    const again = await runAgent(['join', gateway.url, CODE, ...at('one')]).ended;
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('has already joined as machine m-test') });
    expect(gateway.joins).toHaveLength(1);
  });

  it('shows the gateway’s message about a wrong code and stores nothing', async () => {
    const exit = await runAgent(['join', gateway.url, 'wrong', ...at('two')]).ended;
    expect(exit).toMatchObject({ code: 1, stderr: 'gpu-agent: The join code is not known.\n' });
    const run = await runAgent(['run', ...at('two')]).ended;
    expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining('has not joined') });
  });

  it('suggests an image already on the host if the network is down', async () => {
    const opened = await openEngine(engine.socket, null);
    const [offline, online] = [async () => false, async () => true];
    await expect(chooseImage(opened, null, offline)).rejects.toThrow(
      /^Docker Hub is unreachable from this host, and the host has no images; .*`podman load -i FILE`/,
    );
    expect(await chooseImage(opened, null, online)).toEqual({ name: 'nginx', isHere: false, because: null });
    const tar = execFileSync('tar', ['-C', '/etc', '-cf', '-', 'hostname']);
    await engine.docker.importImage(Readable.from([tar]), { repo: 'localhost/mine' });
    const mine = { name: 'localhost/mine:latest', isHere: true };
    expect(await chooseImage(opened, null, offline)).toMatchObject({
      ...mine,
      because: expect.stringMatching(/on it/),
    });
    expect(await chooseImage(opened, 'localhost/mine', offline)).toMatchObject({
      name: 'localhost/mine',
      isHere: true,
    });
    await expect(chooseImage(opened, 'other', online)).rejects.toThrow(
      'other is not on this host; available images: localhost/mine:latest',
    );
  });

  it('refuses to send its token over an unencrypted connection', async () => {
    const exit = await runAgent(['join', 'http://gpu.example.com', CODE, ...at('three')]).ended;
    expect(exit).toMatchObject({ code: 2, stderr: expect.stringContaining('https://') });
  });

  it('reports in one line that the engine is missing or doesn’t respond', async () => {
    const nobody = await runAgent(['hardware', '--engine', join(dir, 'none.sock'), '--data-dir', dir]).ended;
    expect(nobody.code).toBe(2);
    expect(nobody.stderr.trim().split('\n')).toHaveLength(1);
    expect(nobody.stderr).toContain('is not responding');
    // No engine path is given. The message differs on a computer with an engine at a standard path.
    const usual = ['/run/docker.sock', '/run/podman/podman.sock'];
    if (!usual.some((path) => existsSync(path))) {
      const { code, stderr } = await runAgent(['try', '--data-dir', dir]).ended;
      const start = /`(systemctl enable --now podman\.socket|mkdir -p \/run\/podman && podman system service [^`]+ &)`/;
      expect([code, stderr.trim().split('\n').length]).toEqual([2, 1]);
      expect(stderr).toMatch(start);
    }
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as { port: number };
    gone.close();
    const away = await runAgent(['join', `http://127.0.0.1:${port}`, CODE, ...at('four')]).ended;
    expect(away).toMatchObject({ code: 3, stderr: expect.stringContaining('is not responding') });
  });

  it('links to the console with the machine and image already filled in', () => {
    expect(deployLink('http://127.0.0.1:4000', 'm-1', 'localhost/acme:1.2')).toBe(
      'http://127.0.0.1:4000/deploy?machine=m-1&template=localhost%2Facme%3A1.2&deploy-disk=5',
    );
  });

  it('admits only one agent per data folder', async () => {
    const first = runAgent(['run', ...at('one')]);
    await until('the agent runs', () => first.stderr().includes('agent started'), 15_000);
    const second = await runAgent(['run', ...at('one')]).ended;
    expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining(`process ${first.pid}`) });
    expect((await first.end('SIGTERM')).code).toBe(0);
    // A killed agent leaves nothing behind that would block the next one.
    const third = runAgent(['run', ...at('one')]);
    await until('the agent runs', () => third.stderr().includes('agent started'), 15_000);
    await third.end('SIGKILL');
    const fourth = runAgent(['run', ...at('one')]);
    await until('the agent runs', () => fourth.stderr().includes('agent started'), 15_000);
    await fourth.end('SIGTERM');
  });
});
