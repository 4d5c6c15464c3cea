import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SETTINGS } from '../../../src/compose/config.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { createTestDatabase } from '../../support/database.js';
import { freePort } from '../../support/free-port.js';
import { cleanUp, folder, run } from '../../support/process.js';
import { needs } from '../../support/tools.js';

const DEPLOY = join(PACKAGE_ROOT, 'deploy');
const read = (...path: string[]) => readFileSync(join(DEPLOY, ...path), 'utf8');

afterAll(cleanUp);

describe('shkeeper/compose.yaml', () => {
  it('enables wallets by SHKeeper’s module names instead of coin codes', () => {
    // "<MODULE>_WALLET", named after shkeeper/modules/cryptos/<module>.py.
    const wallets = [...read('shkeeper', 'compose.yaml').matchAll(/^ +([A-Z_]+_WALLET): enabled$/gm)].map(
      ([, name]) => name!,
    );
    expect(wallets).toEqual(['MONERO_WALLET']);
  });
});

describe('compose.yaml', () => {
  const example = read('.env.example');
  const offered = [...example.matchAll(/^([A-Z_0-9]+)=/gm)].map(([, name]) => name!);

  it('takes all its values from .env, which contains no unused ones', () => {
    const used = [...read('compose.yaml').matchAll(/\$\{([A-Z_0-9]+)/g)].map(([, name]) => name!);
    // The socket is only for engines at other paths. Also, .env may contain any setting of the gateway.
    const missing = used.filter((name) => !offered.includes(name) && name !== 'ENGINE_SOCKET');
    expect(missing).toEqual([]);
    expect(offered.filter((name) => !used.includes(name) && !(name in SETTINGS))).toEqual([]);
  });

  it('sets only settings that the gateway has', () => {
    const [, settings] = /^x-settings: &settings\n((?: {2}.*\n)+)/m.exec(read('compose.yaml'))!;
    const names = [...settings!.matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !(name in SETTINGS))).toEqual([]);
  });

  it('is valid for Compose', needs('docker-compose'), () => {
    const copy = join(folder(), 'deploy');
    cpSync(DEPLOY, copy, { recursive: true });
    const compose = (...args: string[]) =>
      spawnSync('docker-compose', ['-f', join(copy, 'compose.yaml'), ...args], { cwd: copy, encoding: 'utf8' });
    writeFileSync(join(copy, '.env'), example);
    // This is the only value without an example.
    expect(compose('config').stderr).toMatch(/POSTGRES_PASSWORD.*a password/);
    writeFileSync(join(copy, '.env'), example.replace('POSTGRES_PASSWORD=', 'POSTGRES_PASSWORD=planted1'));
    expect(compose('config')).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('the systemd units', () => {
  const units = readdirSync(join(DEPLOY, 'systemd'));

  it.each(units)('run only existing files: %s', (unit) => {
    const commands = [...read('systemd', unit).matchAll(/^Exec\w+=\/usr\/bin\/node (\S+)/gm)].map(([, path]) => path!);
    expect(commands.length).toBeGreaterThan(0);
    const root = '/opt/gpu-rental-gateway/';
    for (const path of commands)
      readFileSync(join(PACKAGE_ROOT, path.startsWith(root) ? path.slice(root.length) : path));
  });

  const verify = 'systemd-analyze';
  it('are valid for systemd', needs(verify), () => {
    const copy = folder();
    // This is an instance of the template whose programs exist.
    for (const unit of units) {
      const text = read('systemd', unit).replaceAll('/usr/bin/node', process.execPath);
      writeFileSync(join(copy, unit.replace('@.', '@1.')), text);
      const verified = spawnSync(verify, ['verify', '--man=no', join(copy, unit.replace('@.', '@1.'))], {
        encoding: 'utf8',
      });
      // Complaints about other units on this host don't count.
      const complaints = verified.stderr.split('\n').filter((line) => line.includes(unit.replace('@.', '@1.')));
      expect([unit, complaints]).toEqual([unit, []]);
    }
  });
});

it('ready.mjs waits for a gateway on this host and reports whether it is ready', async () => {
  const script = join(DEPLOY, 'ready.mjs');
  const port = String(await freePort());
  expect((await run([script], { PORT: port }).ended).code).toBe(1);
  const ended = run(['-e', '0'], {});
  await ended.ended;
  expect((await run([script, '600'], { PORT: port, MAINPID: String(ended.pid) }).ended).code).toBe(1);
  const waiting = run([script, '60'], { PORT: port, MAINPID: String(process.pid) });
  const gateway = run([join(PACKAGE_ROOT, 'dist/gateway.mjs')], {
    PORT: port,
    DATABASE_URL: await createTestDatabase(),
  });
  expect((await waiting.ended).code).toBe(0);
  expect((await run([script], { PORT: port }).ended).code).toBe(0);
  gateway.signal('SIGTERM');
  await gateway.ended;
});
