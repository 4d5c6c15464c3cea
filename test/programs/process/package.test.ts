import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { createEmptyDatabase } from '../../support/database.js';
import { cleanUp, folder, run } from '../../support/process.js';
import { needs } from '../../support/tools.js';

const exec = promisify(execFile);
const { name, version, bin } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'));

let files: string[];
/** The package, unpacked where nothing else of the checkout exists except the dependencies. */
let unpacked: string;

beforeAll(async () => {
  const directory = folder();
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', directory];
  const { stdout } = await exec('npm', args, { cwd: PACKAGE_ROOT });
  const [{ filename, files: packed }] = JSON.parse(stdout);
  files = packed.map(({ path }: { path: string }) => path);
  await exec('tar', ['-xzf', join(directory, filename), '-C', directory]);
  unpacked = join(directory, 'package');
  symlinkSync(join(PACKAGE_ROOT, 'node_modules'), join(unpacked, 'node_modules'));
});
afterAll(cleanUp);

describe('the package', needs('tar'), () => {
  it('contains everything needed at run time but no sources, tests or build tools', () => {
    const folders = new Set(files.map((path) => (path.includes('/') ? path.slice(0, path.indexOf('/')) : '.')));
    expect([...folders].sort()).toEqual(['.', 'deploy', 'dist', 'docs', 'prisma', 'sdk']);
    const sources = files.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
    expect(sources).toEqual([]);
    expect(files.filter((path) => /\btests?\b|\.tsbuildinfo|\.env$|__pycache__/.test(path))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(Object.values(bin)));
  });

  it('has the same name as its command, so npx fetches no other package', () => {
    expect(name).toBe('gpu-rental');
    expect(bin).toEqual({
      'gpu-rental': bin.gpu,
      gpu: 'dist/src/cli/main.js',
      'gpu-agent': 'dist/src/agent/main.js',
    });
  });

  it.each(Object.entries<string>(bin))('has a working command %s', async (_, path) => {
    const { stdout, code } = await run([join(unpacked, path), '--help'], {}).ended;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^Usage: gpu/)]);
    expect(readFileSync(join(unpacked, path), 'utf8')).toMatch(/^#!\/usr\/bin\/env (-S node --|node)\n/);
  });

  it('handles --env-file instead of leaving it to Node', async () => {
    const [required, variables] = [join(folder(), 'required.cjs'), join(folder(), 'variables')];
    writeFileSync(required, 'console.log("required here")');
    writeFileSync(variables, `NODE_OPTIONS=--require=${required}\n`);
    const deploy = (file: string, env: Record<string, string>) =>
      run(['deploy', 'm-1', '--env-file', file], env, { interpreter: join(unpacked, bin.gpu) }).ended;
    expect(await deploy('/nowhere', { GPU_API_KEY: 'gpu_live_x' })).toEqual({
      code: 2,
      stdout: '',
      stderr: "gpu: --env-file /nowhere can't be read: no such file\n",
    });
    expect(await deploy(variables, { HOME: folder() })).toMatchObject({ code: 2, stdout: '' });
  });

  it('has a working server with its data, web page and client', async () => {
    const env = { DATABASE_URL: await createEmptyDatabase() };
    const server = run([join(unpacked, 'dist/gateway.mjs')], env);
    onTestFinished(() => server.signal('SIGKILL'));
    await server.says(/"msg":"listening"/);
    const address = /REST +(http:\S+)\/v1/.exec(server.stdout())![1]!;
    const page = await fetch(`${address}/graphql`, { headers: { accept: 'text/html' } });
    const [script] = /[^"]+graphiql\.js/.exec(await page.text())!;
    expect((await fetch(new URL(script, address))).status).toBe(200);
    const client = `const { createClient } = await import('gpu-rental/client');
      console.log((await createClient({ baseUrl: '${address}' }).gpus.pricing()).count);`;
    const asked = await run(['--input-type=module', '-e', client], {}, { cwd: unpacked }).ended;
    expect(asked).toEqual({ code: 0, stdout: '83\n', stderr: '' });
    const { stdout } = await run([join(unpacked, bin.gpu), '--version'], {}).ended;
    expect(stdout).toBe(`${version}\n`);
    server.signal('SIGTERM');
    expect((await server.ended).code).toBe(0);
  });
});
