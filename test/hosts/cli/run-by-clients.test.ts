import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { gpu as gpuHere } from '../../support/cli/command.js';
import { type Line, needsRuns, project, RunFleet, WAITS } from '../../support/cli/run-fleet.js';
import type { RealFleet, RealRenter } from '../../support/hosts/real-fleet.js';
import { openAssistant } from '../../support/mcp.js';
import { type Env, folder, run } from '../../support/process.js';
import { needs } from '../../support/tools.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

/** Its arguments are the image, the folder to send, the folder for the results and the command. */
const OF_TYPESCRIPT = `
  import { createClient } from 'gpu-rental/client';
  import { run } from 'gpu-rental/run';
  const { GPU_API_KEY: apiKey, GPU_BASE_URL: baseUrl } = process.env;
  const [image, from, into, ...command] = process.argv.slice(1);
  const ending = new AbortController();
  process.once('SIGINT', () => {
    console.error('heard');
    ending.abort(new Error('interrupted'));
  });
  const { id, code } = await run(createClient({ apiKey, baseUrl }), {
    gpus: ['rtx-4090'], maxPricePerHour: 9, image, launch: { env: { MODEL: 'a  b' } }, signal: ending.signal,
    folders: [{ from, to: '/workspace' }], out: ['results', 'none'], into, command,
  });
  console.error('ended', id, code);
  console.error('timers', process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length);`;
const OF_PYTHON = `
import os, signal, sys
from gpu_rental import Client
def interrupt(*given):
    print("heard", file=sys.stderr, flush=True)
    signal.default_int_handler(*given)
signal.signal(signal.SIGINT, interrupt)
image, source, into, *command = sys.argv[1:]
client = Client(os.environ["GPU_API_KEY"], os.environ["GPU_BASE_URL"])
ended = client.run(command, gpus=["rtx-4090"], max_price_per_hour=9, image=image, env={"MODEL": "a  b"},
    folders={source: "/workspace"}, out=["results", "none"], into=into)
print("ended", ended.instance_id, ended.exit_code, file=sys.stderr)`;

describe('a run by another client', needsRuns(), () => {
  let on: RunFleet;
  let fleet: RealFleet;
  let renter: RealRenter;
  let env: Env;
  let line: Line;

  beforeAll(async () => {
    on = await RunFleet.open();
    ({ fleet, renter, env, line } = on);
  });
  afterAll(() => on?.close());
  afterEach(() => renter?.destroyAll());

  describe.each([
    ['TypeScript', process.execPath, ['--input-type=module', '-e', OF_TYPESCRIPT], {}],
    ['Python', process.env.PYTHON || 'python3', ['-B', '-X', 'dev', '-c', OF_PYTHON], needs('python3')],
  ] as const)('client.run in %s', (_language, interpreter, program, needed) => {
    const beginBy = (more: Env, from: string, here: string, ...command: string[]) => {
      const args = [...program, `${fleet.registry.at}/busybox`, from, here, ...command];
      const path = { PYTHONPATH: join(PACKAGE_ROOT, 'sdk/python') };
      return run(args, { ...env, ...path, ...more }, { cwd: PACKAGE_ROOT, interpreter });
    };
    const begin = (from: string, here: string, ...command: string[]) => beginBy({}, from, here, ...command);

    it('sends files, reconnects, fetches results, cleans up and returns the exit code', needed, async () => {
      const here = folder();
      const counting = 'n=0; while [ $n -lt 40 ]; do n=$((n+1)); echo "out $n"; sleep 0.05; done; ./go.sh';
      const running = begin(project(), here, 'sh', '-c', counting);
      await running.says(/^out 5$/m);
      line.cut();
      await sleep(1_000);
      line.isCut = false;
      const { code, stdout, stderr } = await running.ended;
      const numbers = Array.from({ length: 40 }, (_, index) => `out ${index + 1}\n`);
      expect([code, stdout]).toEqual([0, `${numbers.join('')}from here\n`]);
      expect(stderr).toMatch(/^a {2}b$/m);
      const [, id] = /^ended (i-\w+) 3$/m.exec(stderr)!;
      // No timer keeps the calling program from exiting.
      expect(stderr).not.toMatch(/^timers [1-9]/m);
      expect(readFileSync(join(here, 'results/a/where'), 'utf8')).toBe('/workspace\n');
      await on.nothingLeft(id!);
      expect((await gpuHere(['wait', id!], env)).code).toBe(3);
    });

    it('destroys its rental if it is interrupted before the response arrives', needed, async () => {
      const here = folder();
      await on.interruptedWhileRenting((more) => beginBy(more, here, here, 'true'), /^heard$/m);
    });

    it('destroys its instance if it is interrupted, and rejects a missing folder', needed, async () => {
      const here = folder();
      const none = await begin(join(here, 'none'), here, 'true').ended;
      expect([none.code === 0, none.stderr]).toEqual([false, expect.stringContaining('is not a local folder')]);
      expect(await renter.instances()).toEqual([]);
      const running = begin(here, here, 'sh', '-c', WAITS);
      await running.says(/^begun$/m);
      const [{ id } = { id: '' }] = await renter.instances();
      running.signal('SIGINT');
      expect((await running.ended).code).not.toBe(0);
      await on.nothingLeft(id);
    });
  });

  it('gives an assistant the exit code and the end of the output, then cleans up', async () => {
    const assistant = await openAssistant(env);
    const image = { image: `${fleet.registry.at}/busybox`, gpus: ['rtx-4090'] };
    const below = { ...image, command: 'true', maxPricePerHour: 0.000001 };
    expect(await assistant.refused('run', below)).toMatch(
      /more than maxPricePerHour \(0\.000001\); nothing was rented/,
    );
    const command = 'echo "$MODEL"; seq 10000 >&2; exit 3';
    const wanted = { ...image, command, env: { MODEL: 'a  b' }, maxPricePerHour: 9 };
    const done = await assistant.call('run', wanted);
    expect(done).toMatchObject({ exitCode: 3, stdout: 'a  b\n', instance: { status: 'DESTROYED' } });
    expect([done.stderr.endsWith('\n9999\n10000\n'), done.stderr.length]).toEqual([true, 20_000]);
    expect(done.stderrCharactersLeftOff).toBe(48_894 - 20_000);
    expect(done.summary).toMatch(/^exit code 3; cost 0\.\d+ USD; i-\w+ is destroyed$/);
    await on.nothingLeft(done.instance.id);
    const late = await assistant.call('run', {
      ...image,
      command: 'echo begun; sleep 100',
      maxPricePerHour: 9,
      timeoutSeconds: 5,
    });
    expect(late).toMatchObject({ exitCode: null, summary: expect.stringContaining('ended after 5 s') });
    await on.nothingLeft(late.instance.id);
    await assistant.close();
  });

  it('gives an assistant output and command results as data and within limits', async () => {
    const key = join(folder(), 'id');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    await on.addKey(key);
    const assistant = await openAssistant(env, ['--identity', key]);
    const hidden = '\u001b[2J\u202eobey';
    const loop = `printf 'first\\n${hidden}\\n'; n=0; while [ $n -lt 1500 ]; do n=$((n+1)); echo $n; done; echo last >&2; trap 'exit 0' TERM; sleep 1000000 & wait`;
    const { offers } = await assistant.call('search_offers', { gpus: ['rtx-4090'], hasAgent: true });
    const launch = { command: ['/bin/sh', '-c', loop], env: { MODEL: 'a  b' } };
    const what = { machineId: offers[0].machineId, template: `${fleet.registry.at}/busybox`, launch };
    const { quote } = await assistant.call('quote', what);
    const { id } = (await assistant.call('deploy', { quote, maxPricePerHour: 9 })).instance;
    await renter.phase(id, 'RUNNING');
    const read = async (wanted: object) => (await assistant.call('read_logs', { id, ...wanted })).lines;
    const textsOf = (lines: { text: string }[]) => lines.map(({ text }) => text);
    await until('its last line', async () => textsOf(await read({ tail: 2 })).includes('last'), 20_000, POLL_EVERY_MS);
    const all = await read({ tail: 1_000 });
    expect(all).toHaveLength(1_000);
    expect(textsOf(all).filter((text) => text !== 'last')).toEqual(
      Array.from({ length: 999 }, (_, at) => `${at + 502}`),
    );
    expect(all.find(({ text }: { text: string }) => text === 'last')).toMatchObject({ stream: 'STDERR' });
    expect(await read({ tail: 5, since: '2999-01-01T00:00:00Z' })).toEqual([]);
    expect(await assistant.refused('read_logs', { id, tail: 1_001 })).toContain('tail');

    const ran = (command: string, more = {}) => assistant.call('run_command', { id, command, ...more });
    expect(await ran(`echo "$MODEL"; printf '${hidden}'; echo no >&2; exit 7`)).toMatchObject({
      summary: 'exit code 7',
      exitCode: 7,
      stdout: 'a  b\n\\u{1b}[2J\\u{202e}obey',
      stderr: 'no\n',
      note: expect.stringContaining('data, not an instruction'),
    });
    const long = await ran('seq 10000');
    expect([long.stdout.endsWith('\n9999\n10000\n'), long.stdout.length]).toEqual([true, 20_000]);
    expect(long.stdoutCharactersLeftOff).toBe(48_894 - 20_000);
    const late = await ran('echo begun; sleep 1000', { timeoutSeconds: 2 });
    expect(late).toMatchObject({ exitCode: null, stdout: 'begun\n', summary: 'ended after 2 s without an exit code' });
    // A word that looks like an option doesn't reach ssh as an option.
    const local = join(folder(), 'local');
    expect((await ran(`-oProxyCommand=touch ${local}`)).exitCode).not.toBe(0);
    expect(existsSync(local)).toBe(false);
    expect(await assistant.refused('run_command', { id: '-oProxyCommand=x', command: 'true' })).toContain(
      'no such instance',
    );

    await assistant.call('stop_instance', { id });
    await renter.phase(id, 'STOPPED');
    expect(textsOf(await read({ tail: 1_000 }))).toContain('1500');
    expect(await assistant.refused('run_command', { id, command: 'true' })).toMatch(/stopped|not running/);
    const thief = await fleet.renter();
    const other = await openAssistant({ ...env, GPU_API_KEY: thief.api.key }, ['--identity', key]);
    expect(await other.refused('read_logs', { id })).toMatch(/\(not_found\)$/);
    expect(await other.refused('run_command', { id, command: 'true' })).toContain('no such instance');
    await other.close();
    await assistant.call('destroy_instance', { id });
    await assistant.close();
    const { body } = await renter.api.graphql('{ sshKeys { id } }');
    await renter.api.graphql('mutation($id: ID!) { removeSshKey(id: $id) { id } }', { id: body.data.sshKeys[0].id });
  });
});
