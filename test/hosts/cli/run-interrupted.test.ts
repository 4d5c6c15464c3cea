import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { gpu as gpuHere } from '../../support/cli/command.js';
import { GPU, gpu, gpuInTerminal } from '../../support/cli/gpu.js';
import { idOf, needsRuns, RunFleet, script, WAITS } from '../../support/cli/run-fleet.js';
import type { RealFleet, RealRenter } from '../../support/hosts/real-fleet.js';
import { type Env, folder, run } from '../../support/process.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

describe('an interrupted or detached gpu run', needsRuns(), () => {
  let on: RunFleet;
  let fleet: RealFleet;
  let renter: RealRenter;
  let env: Env;

  beforeAll(async () => {
    on = await RunFleet.open();
    ({ fleet, renter, env } = on);
  });
  afterAll(() => on?.close());
  afterEach(() => renter?.destroyAll());

  it('asks on Ctrl-C, keeps running if detached, and shows all output on attach', async () => {
    const program = gpuInTerminal(['run', ...on.image(), ...script(WAITS)].map(quoted), env);
    const id = await idOf(program);
    await program.says(/begun\r/);
    program.stdin.write('\u0003');
    await program.says(/Destroy i-\w+ and its results\?/);
    program.stdin.write('n\n');
    expect((await program.ended).code).toBe(130);
    expect((await renter.seen(id)).runtime.phase).toBe('RUNNING');
    const keys = 'query { sshKeys { id } }';
    expect((await renter.api.graphql(keys)).body.data.sshKeys).toEqual([]);
    const [attached, waiting] = [run([GPU, 'attach', id], env), run([GPU, 'wait', id], env)];
    await attached.says(/^begun$/m);
    expect((await renter.api.graphql(keys)).body.data.sshKeys.length).toBeGreaterThan(0);
    await on.finish(id);
    expect(await attached.ended).toMatchObject({ code: 5, stdout: 'begun\ndone\n' });
    expect((await waiting.ended).code).toBe(5);
    await on.nothingLeft(id);
  });

  it('destroys its instance on SIGTERM or a confirmed Ctrl-C, and detaches on SIGHUP', async () => {
    const typed = gpuInTerminal(['run', ...on.image(), ...script(WAITS)].map(quoted), env);
    const first = await idOf(typed);
    await typed.says(/begun\r/);
    typed.stdin.write('\u0003');
    await typed.says(/Destroy i-/);
    typed.stdin.write('y\n');
    expect((await typed.ended).code).toBe(130);
    await on.nothingLeft(first);

    const stopped = run([GPU, 'run', ...on.image(), ...script(WAITS)], env);
    const second = await idOf(stopped);
    await stopped.says(/^begun$/m);
    stopped.signal('SIGTERM');
    expect((await stopped.ended).code).toBe(143);
    await on.nothingLeft(second);

    const hungUp = run([GPU, 'run', ...on.image(), ...script(WAITS)], env);
    const third = await idOf(hungUp);
    await hungUp.says(/^begun$/m);
    hungUp.signal('SIGHUP');
    expect((await hungUp.ended).code).toBe(129);
    expect((await renter.seen(third)).status).toBe('RUNNING');
  });

  it('destroys its rental if interrupted before the response or during the pull', async () => {
    const begin = (more: Env) => run([GPU, 'run', ...on.image(), ...script('true')], { ...env, ...more });
    expect(
      await on.interruptedWhileRenting(begin, /waiting for the service's response before destroying the instance/),
    ).toBe(130);
    await fleet.registry.push('large', { extraBytes: 5_000_000 });
    fleet.registry.bytesPerSecond = 200_000;
    const slow = ['--gpu', 'rtx-4090', '--max-price', '9', '--image', `${fleet.registry.slowAt}/large`];
    const pulling = run([GPU, 'run', ...slow, ...script('true')], env);
    const id = await idOf(pulling);
    await renter.phase(id, 'PULLING');
    pulling.signal('SIGINT');
    expect(await pulling.ended).toMatchObject({
      code: 130,
      stderr: expect.stringContaining(`${id} has been destroyed`),
    });
    await on.nothingLeft(id);
  });

  it('stops when its command ends without a client, and fetches results on attach', async () => {
    const here = folder();
    writeFileSync(join(here, 'result'), 'mine');
    const args = [
      'run',
      '-d',
      '--linger',
      '2',
      ...on.image(),
      '--out',
      'result',
      ...script('echo said; echo 42 >result; exit 4'),
    ];
    const begun = await gpu(args, env);
    expect(begun).toMatchObject({ code: 0, stdout: expect.stringMatching(/^i-[0-9a-f]{8}\n$/) });
    const id = begun.stdout.trim();
    const seen = await until(
      'it is stopped',
      async () => {
        const instance = await renter.seen(id);
        return instance.status === 'STOPPED' ? instance : null;
      },
      30_000,
      POLL_EVERY_MS,
    );
    expect(seen.stopReason).toBe('COMMAND_ENDED');
    expect((await gpuHere(['wait', id], env)).code).toBe(4);
    const attached = await run([GPU, 'attach', id], env, { cwd: here }).ended;
    expect([attached.code, attached.stdout]).toEqual([4, 'said\n']);
    // A launch can't overwrite a local file.
    expect(readFileSync(join(here, 'result'), 'utf8')).toBe('mine');
    expect(readFileSync(join(here, id, 'result'), 'utf8')).toBe('42\n');
    await on.nothingLeft(id);
  });
});

/** Quotes a word, because `script` passes the command to a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
