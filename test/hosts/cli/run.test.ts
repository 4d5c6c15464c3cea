import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { gpu as gpuHere } from '../../support/cli/command.js';
import { GPU, gpu } from '../../support/cli/gpu.js';
import { INSTANCE, idOf, type Line, needsRuns, project, RunFleet, script } from '../../support/cli/run-fleet.js';
import type { RealFleet, RealRenter } from '../../support/hosts/real-fleet.js';
import { isLong } from '../../support/long.js';
import { type Env, folder, run } from '../../support/process.js';

/** Time for which the network is down in the middle of a run. */
const CUT_MS = isLong ? 30_000 : 2_500;

const TRAINING = `for epoch in 1 2 3 4 5 6; do echo "epoch $epoch"; sleep 0.7; done
mkdir results; echo "0.25 by $MODEL" > results/loss
`;

describe('gpu run', needsRuns(), () => {
  let on: RunFleet;
  let fleet: RealFleet;
  let renter: RealRenter;
  let env: Env;
  let line: Line;

  beforeAll(async () => {
    on = await RunFleet.open();
    ({ fleet, renter, env, line } = on);
    await fleet.registry.push('full', { programs: ['/bin/bash', '/usr/bin/rsync'] });
    await fleet.engine.pull(`${fleet.registry.at}/full:latest`);
  });
  afterAll(() => on?.close());
  afterEach(() => renter?.destroyAll());

  it.each(['busybox', 'full'])(
    'sends a folder, prints output, fetches results and returns the exit code (%s)',
    async (name) => {
      const here = folder();
      const from = project();
      const args = [
        'run',
        ...on.image(name),
        '-e',
        'MODEL=a  b',
        '-v',
        from,
        '--out',
        'results',
        '--out',
        'none',
        '--',
        './go.sh',
      ];
      const { code, stdout, stderr } = await run([GPU, ...args], env, { cwd: here }).ended;
      expect([code, stdout]).toEqual([3, 'from here\n']);
      expect(stderr).toMatch(/^a {2}b$/m);
      expect(stderr).toContain('none does not exist; nothing to fetch');
      expect(stderr).not.toContain('tar:');
      expect(readFileSync(join(here, 'results/a/where'), 'utf8')).toBe('/workspace\n');
      await on.nothingLeft(INSTANCE.exec(stderr)![0]);
    },
  );

  it('exits with the code a shell would use for a killed or missing command', async () => {
    const killed = await gpu(['run', ...on.image(), ...script('echo begun; kill -9 $$')], env);
    expect([killed.code, killed.stdout]).toEqual([137, 'begun\n']);
    await on.nothingLeft(INSTANCE.exec(killed.stderr)![0]);
    const none = await gpu(['run', '-q', ...on.image(), '--', 'no-such-program'], env);
    expect([none.code, none.stdout]).toEqual([127, '']);
    expect(none.stderr).toMatch(/^[^\n]*no-such-program: not found\n$/);
  });

  it('reports the reason for a failure before its cleanup', async () => {
    const { code, stdout, stderr } = await gpu(['run', ...on.image('none'), '--', 'true'], env);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/\ngpu: (i-[0-9a-f]{8}) is not running: [^\n]+\ngpu: \1 has been destroyed\n$/);
  });

  it('loses no output when the network is down', async () => {
    const lines = Math.ceil((CUT_MS + 2_000) / 50);
    const counting = `n=0; while [ $n -lt ${lines} ]; do n=$((n+1)); echo "out $n"; echo "err $n" >&2; sleep 0.05; done; exit 9`;
    const program = run([GPU, 'run', ...on.image(), ...script(counting)], env);
    const id = await idOf(program);
    await program.says(/^out 5$/m);
    line.cut();
    await sleep(CUT_MS);
    line.isCut = false;
    const { code, stdout, stderr } = await program.ended;
    const numbers = Array.from({ length: lines }, (_, index) => index + 1);
    expect(code).toBe(9);
    expect(stdout).toBe(numbers.map((n) => `out ${n}\n`).join(''));
    expect(stderr.match(/^err \d+$/gm)).toEqual(numbers.map((n) => `err ${n}`));
    expect(stderr).toContain(`lost the connection to ${id}`);
    expect(line.cuts).toBeGreaterThanOrEqual(3);
    await on.nothingLeft(id);
  });

  it('prints what the documentation shows', async () => {
    const here = folder();
    writeFileSync(join(here, 'train.sh'), TRAINING);
    const words = 'run --gpu rtx-4090 --max-price 0.50 --image busybox -e MODEL=base -v . --out results -- sh train.sh';
    const shell = ['-c', 'exec "$@" 2>&1', 'sh', process.execPath, GPU, ...words.split(' ')];
    const program = run(shell, env, { cwd: here, interpreter: '/bin/sh' });
    await program.says(/^epoch 2$/m);
    line.cut();
    await sleep(1_500);
    line.isCut = false;
    const { code, stdout } = await program.ended;
    expect(code).toBe(0);
    const shown = stdout.replaceAll(new RegExp(INSTANCE, 'g'), 'i-31f72534');
    const results = readFileSync(join(here, 'results/loss'), 'utf8');
    const made = `$ cat train.sh\n${TRAINING}$ gpu ${words}\n${shown}$ cat results/loss\n${results}`;
    const file = join(PACKAGE_ROOT, 'docs/clients.md');
    const page = readFileSync(file, 'utf8');
    const [, before, kept] = /^(.*<!-- npm run transcript -->\n```\n)(.*?)```\n/s.exec(page)!;
    if (process.env.WRITE_TRANSCRIPT === '1')
      writeFileSync(
        file,
        page.replace(before! + kept!, () => before! + made),
      );
    // It is random which of the two streams arrives first after the disconnect.
    else expect(made.split('\n').sort()).toEqual(kept!.split('\n').sort());
  });

  it('keeps the instance with --keep and uses the SSH key given with -i', async () => {
    const key = join(folder(), 'id');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    await on.addKey(key);
    const { code, stderr } = await gpu(['run', '--keep', '-i', key, ...on.image(), ...script('exit 6')], env);
    const id = INSTANCE.exec(stderr)![0];
    expect([code, (await renter.seen(id)).status]).toEqual([6, 'RUNNING']);
    expect((await renter.api.graphql('{ sshKeys { instanceId } }')).body.data.sshKeys).toEqual([{ instanceId: null }]);
  });

  it.each([
    [['-v', '/nowhere'], '/nowhere is not a local folder'],
    [['--out', '../up'], '../up must be a path under the workspace'],
    [['--out', '/etc'], '/etc must be a path under the workspace'],
  ])('rejects %j before renting', async (wrong, message) => {
    const { code, stderr } = await gpuHere(['run', ...on.image(), ...wrong, '--', 'true'], env);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    expect(await renter.instances()).toEqual([]);
  });

  it('starts the only instances accepted by gpu attach and gpu wait', async () => {
    const { body } = await renter.api.rest('GET', '/offers?gpu=rtx-4090');
    const { id } = await renter.deploy(body.data[0].machine_id);
    for (const command of ['attach', 'wait']) {
      const { code, stderr } = await gpu([command, id], env);
      expect([code, stderr]).toEqual([1, expect.stringContaining(`${id} was not started by \`gpu run\``)]);
    }
    expect(existsSync(join(env.HOME!, '.ssh/known_hosts'))).toBe(false);
  });
});
