import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { needsEngine, startEngine } from '../../support/hosts/engines.js';
import { cleanUp, folder } from '../../support/process.js';

const BUILT = join(PACKAGE_ROOT, 'dist/gpu-agent.mjs');
const SCRIPT = join(PACKAGE_ROOT, 'scripts/build-agent.mjs');
const MAX_BYTES = 3_000_000;

afterAll(cleanUp);

/** Copies the file to a folder where neither it nor any parent folder has a package.json or node_modules. */
function alone(): string {
  const file = join(folder(), 'gpu-agent.mjs');
  copyFileSync(BUILT, file);
  return file;
}

function runAlone(...args: string[]) {
  const file = alone();
  const { PATH = '/usr/bin:/bin' } = process.env;
  return spawnSync(process.execPath, [file, ...args], { cwd: join(file, '..'), env: { PATH }, encoding: 'utf8' });
}

describe('gpu-agent.mjs', () => {
  it('is small and self-contained, and includes none of the gateway’s modules', () => {
    const print = `import(${JSON.stringify(SCRIPT)}).then(async ({ bundleAgent }) => console.log(JSON.stringify(await bundleAgent())))`;
    const { stdout } = spawnSync(process.execPath, ['-e', print], { encoding: 'utf8', maxBuffer: 4 * MAX_BYTES });
    const { code, imports, modules }: { code: string; imports: string[]; modules: string[] } = JSON.parse(stdout);
    expect(code, 'built before the last change').toBe(readFileSync(BUILT, 'utf8'));
    expect(statSync(BUILT).size).toBeLessThan(MAX_BYTES);
    expect(imports.filter((each) => !each.startsWith('node:'))).toEqual([]);
    const own = modules.filter((path) => /^(dist|src|prisma|web)\//.test(path));
    expect(own).toContain('dist/src/agent/reconciler.js');
    const shared = [
      'agent-protocol/limits',
      'agent-protocol/protocol',
      'agent-protocol/tunnel-protocol',
      'logging/log-output',
      'std/command-help',
      'std/deadline',
      'std/networks',
      'std/quoted',
      'std/secure-url',
      'std/untrusted/byte-queue',
      'std/untrusted/line-splitter',
      'std/visible',
    ].map((name) => `dist/src/${name}.js`);
    expect(own.filter((path) => !path.startsWith('dist/src/agent/')).sort()).toEqual(shared);
    expect(modules.filter((path) => /prisma|\/(pg|graphql|express)\//.test(path))).toEqual([]);
    expect(code).toContain('The MIT License (MIT)');
  });

  it('prints help and errors when it runs in an empty folder', () => {
    expect(runAlone('--help')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Usage: gpu-agent/) });
    expect(runAlone('hardware', '--engine', '/nowhere.sock')).toMatchObject({ status: 2, stdout: '' });
  });

  it.each([[], ['hardware'], ['join'], ['run'], ['try']])(
    'prints help with an example in 80 columns: %s',
    (...command) => {
      const { status, stdout } = runAlone(...command, '--help');
      expect(status).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Examples?:\\n .*gpu-agent ${command[0] ?? 'join'}`, 'ms'));
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    },
  );

  it('reports a missing command in one line', () => {
    const stderr = 'gpu-agent: missing command; --help lists the commands\n';
    expect(runAlone()).toMatchObject({ status: 2, stdout: '', stderr });
  });

  it('connects to ports in a separate process', async () => {
    const server = createServer((socket) => socket.end('from inside')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const helper = fork(alone(), ['port-helper'], { env: {} });
    onTestFinished(() => void helper.kill('SIGKILL'));
    expect((await once(helper, 'message'))[0]).toEqual({ ready: true });
    helper.send({ id: 7, port });
    const [message, socket] = (await once(helper, 'message')) as [unknown, Socket];
    expect(message).toEqual({ id: 7 });
    const [said] = await once(socket, 'data');
    expect(String(said)).toBe('from inside');
  });

  it('shows the hardware', needsEngine('podman'), async () => {
    const engine = await startEngine('podman', []);
    try {
      const { status, stdout, stderr } = runAlone('hardware', '--engine', engine.socket, '--data-dir', folder());
      expect([status, stderr]).toEqual([0, '']);
      expect(JSON.parse(stdout)).toMatchObject({ engine: { name: 'podman' }, vcpus: expect.any(Number) });
    } finally {
      await engine.close();
    }
  });
});
