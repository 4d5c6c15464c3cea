import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, Exec } from '../../../src/agent/engine/engine.js';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import { RuntimeCommands } from '../../../src/agent/engine/runtime.js';
import { readOr, startOf } from '../../../src/agent/process-start.js';
import { hangUp } from '../../../src/agent/tunnels/running.js';
import { whileBusy } from '../../support/busy.js';
import { desiredInstance } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine } from '../../support/hosts/engines.js';
import { RunningHost } from '../../support/hosts/running-host.js';
import { folder } from '../../support/process.js';
import { until } from '../../support/until.js';

const ID = 'i-00000001';
/** An instance whose image has its own user instead of root. */
const OTHER = 'i-00000002';
/** An instance whose shell is controlled by a malicious renter. */
const HOSTILE = 'i-00000003';
/** An id that no container has. */
const NO_ENGINE_ID = 'f'.repeat(64);
/** The name of this variable makes the agent use the engine. */
const ELSEWHERE = { ELSEWHERE: 'yes' };
/** Prints a process's permissions and its view of itself, except for its process id. */
const LOOKS = `
grep -E '^(Uid|Gid|Cap|NoNewPrivs|Seccomp):?' /proc/self/status
ulimit -a; umask; pwd; cat /proc/self/cgroup /proc/self/oom_score_adj
env | grep -vE '^(ELSEWHERE|HOSTNAME|SHLVL|_)=' | sort`;

describe.each<EngineName>(['podman', 'docker'])('commands started by %s’s runtime', (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('are skipped', wanted, () => {});
    return;
  }
  const opened = new RunningHost();
  let engine: Engine;
  let dir: string;
  let umask: number;

  beforeAll(async () => {
    const passwd = join(folder(), 'passwd');
    writeFileSync(passwd, 'root:x:0:0::/:/bin/sh\napp:x:1234:1234::/:/bin/sh\n');
    const files = { '/etc/passwd': passwd };
    const { registry, gateway } = await opened.open(name, { busybox: {}, app: { user: 'app', files } });
    dir = join(folder(), 'commands');
    engine = await openEngine(opened.engine.socket, null, new RuntimeCommands(dir));
    const images = { [ID]: 'busybox', [OTHER]: 'app', [HOSTILE]: 'busybox' };
    gateway.setDesired(
      Object.entries(images).map(([id, image]) =>
        desiredInstance(id, 'running', { image: `${registry.at}/${image}`, env: { GIVEN: 'a b' }, memoryMb: 64 }),
      ),
    );
    for (const id of Object.keys(images)) await gateway.phase(id, 'RUNNING', 60_000);
    // Same umask as the agent has under systemd.
    umask = process.umask(0o077);
  });
  afterAll(() => {
    process.umask(umask);
    return opened.close();
  });

  const begin = async (
    command: string,
    { id = ID, env = {}, user = null }: { id?: string; env?: Record<string, string>; user?: string | null } = {},
  ): Promise<Exec> => engine.exec(id, { argv: ['/bin/sh', '-c', command], env, terminal: null, user });
  const outcome = async (exec: Exec) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const said = Promise.all([text(stdout), text(stderr)]);
    await exec.output(stdout, stderr);
    stdout.end();
    stderr.end();
    await until('the end is known', async () => !(await exec.state()).running, 10_000);
    const { exitCode } = await exec.state();
    exec.detach();
    const [out, error] = await said;
    return { exitCode, out, error };
  };
  const run = async (command: string, options = {}) => outcome(await begin(command, options));
  /** Returns the number of this process's open descriptors. */
  const descriptors = () => readdirSync('/proc/self/fd').length;

  it('have the same permissions and view as if started by the engine, for every user', async () => {
    for (const id of [ID, OTHER]) {
      const [own, engines] = [await begin(LOOKS, { id }), await begin(LOOKS, { id, env: ELSEWHERE })];
      expect([own.constructor.name, engines.constructor.name]).toEqual(['Command', 'Object']);
      const [seen, wantedOf] = [await outcome(own), await outcome(engines)];
      expect(seen).toEqual(wantedOf);
      expect(seen.out).toMatch(/NoNewPrivs:\s1[\s\S]*GIVEN=a b/);
      expect(seen.out).toMatch(id === ID ? /^Uid:\s0/ : /^Uid:\s1234/);
      // Engines differ in whether a user's own group is listed here.
      expect((await run('grep Groups /proc/self/status', { id })).out).toMatch(/^Groups:\s*((0|1234)\s*)?$/);
    }
  });

  it('run as root on request with the same permissions as in a container run by root', async () => {
    // The inherited sets aren't compared. They differ, because Podman gives a container's user all of its capabilities.
    const RIGHTS = /^(Uid|Gid|CapPrm|CapEff|CapBnd|NoNewPrivs|Seccomp)/;
    const rights = (out: string) => out.split('\n').filter((line) => RIGHTS.test(line));
    const own = rights((await run(LOOKS)).out);
    expect(own).toContain('NoNewPrivs:\t1');
    for (const user of ['root', '0']) {
      const exec = await begin(LOOKS, { id: OTHER, user });
      expect(exec.constructor.name).toBe('Command');
      expect(rights((await outcome(exec)).out)).toEqual(own);
    }
    // Changing the owner of a file needs a capability.
    const { out } = await run('touch /of-root && chown 7:8 /of-root && stat -c %u:%g /of-root', {
      id: OTHER,
      user: 'root',
    });
    expect(out).toBe('7:8\n');
    expect((await run('mount -t tmpfs none /mnt', { id: OTHER, user: 'root' })).exitCode).not.toBe(0);
    // Each one waits for its turn.
    const many = Array.from({ length: 8 }, () => begin('grep CapEff /proc/self/status', { id: OTHER, user: 'root' }));
    const outputs = await Promise.all((await Promise.all(many)).map(outcome));
    const effective = own.filter((line) => line.startsWith('CapEff'));
    expect(new Set(outputs.map(({ out }) => out.trim()))).toEqual(new Set(effective));
    // Commands for other users go through the engine, which reads the image's users.
    for (const [user, uid] of [
      ['app', '1234'],
      ['4321', '4321'],
    ] as const) {
      const exec = await begin('id -u', { user, id: OTHER });
      expect(exec.constructor.name).toBe('Object');
      expect(await outcome(exec)).toMatchObject({ exitCode: 0, out: `${uid}\n` });
    }
    await expect(begin('id -u', { user: 'ghost', id: OTHER })).rejects.toThrow(/unable to find user ghost/);
  });

  it('have streams that any user can reopen', async () => {
    const command = 'cat; echo out > /dev/stdout; echo error > /dev/stderr; exit 7';
    for (const id of [ID, OTHER]) {
      const exec = await begin(command, { id });
      exec.stdin.end('in\n');
      expect(await outcome(exec)).toEqual({ exitCode: 7, out: 'in\nout\n', error: 'error\n' });
      // The links show the runtime's own names for pipes and no folder of the host.
      const { out } = await run('for n in 0 1 2; do readlink /proc/$$/fd/$n; done', { id });
      expect(out).toMatch(/^(pipe:\[\d+\]\n){3}$/);
    }
  });

  it('pass on a client’s language, but leave all other variables to the engine', async () => {
    const exec = await begin('echo $LANG $LC_ALL; sleep 5431', { env: { LANG: 'de_DE', LC_ALL: 'C' } });
    expect(exec.constructor.name).toBe('Command');
    const stdout = new PassThrough();
    void exec.output(stdout, new PassThrough());
    expect(String(await new Promise((resolve) => stdout.once('data', resolve)))).toBe('de_DE C\n');
    process.kill(-(await exec.state()).pid!, 'SIGKILL');
    await until('it has ended', async () => !(await exec.state()).running, 10_000);
    expect(await exec.state()).toEqual({ running: false, exitCode: 137, pid: null });
    exec.detach();
    expect((await begin('true', { env: { TOKEN: 'hush' } })).constructor.name).toBe('Object');
  });

  it('end when they exit, even if they leave processes running', async () => {
    expect(await run('sleep 5432 & echo begun')).toEqual({ exitCode: 0, out: 'begun\n', error: '' });
    expect(await run('exec >&- 2>&-; sleep 1; exit 3')).toEqual({ exitCode: 3, out: '', error: '' });
    expect(await run('kill -KILL $$')).toEqual({ exitCode: 137, out: '', error: '' });
    await run('pkill -f "sleep 543[2]"');
  });

  it('keep their last output for a slow reader', async () => {
    let bytes = 0;
    // Like a slow connection, this reader has accepted nothing when the command exits.
    const slow = new Writable({
      highWaterMark: 1,
      write: (chunk: Buffer, _encoding, done) => {
        bytes += chunk.length;
        setTimeout(done, 30);
      },
    });
    const exec = await begin('head -c 1000000 /dev/zero');
    await exec.output(slow, new PassThrough());
    expect(bytes).toBe(1_000_000);
  });

  it('can be ended as soon as they start, even by the next agent', async () => {
    for (let turn = 0; turn < 8; turn += 1) {
      const exec = await begin('sleep 5433 | cat');
      await hangUp(exec);
      await until('it has ended', async () => !(await exec.state()).running, 10_000);
      expect(await exec.state()).toEqual({ running: false, exitCode: 129, pid: null });
      exec.detach();
    }
    const [one, other] = [await begin('sleep 5433 | cat'), await begin('sleep 5433')];
    await until('both run', async () => (await one.state()).pid !== null && (await other.state()).pid !== null, 10_000);
    const { pid } = await one.state();
    process.kill(-(await other.state()).pid!, 'SIGKILL');
    await until('it has ended', async () => !(await other.state()).running && readdirSync(dir).length === 1, 10_000);
    // Other processes now have the ids in these records: one in the container and, as after a reboot, one on the host.
    const { engineId, pid: first } = (await engine.inspect(ID))!;
    for (const [name, id, ticks] of [
      ['older', first!, -1],
      ['elsewhere', process.pid, 0],
    ] as const) {
      mkdirSync(join(dir, name));
      writeFileSync(join(dir, name, 'process'), `${id} ${Number(startOf(String(id))) + ticks} ${engineId}`);
    }
    const next = new RuntimeCommands(dir);
    expect(await next.abandoned()).toEqual([pid]);
    expect(await next.abandoned()).toEqual([]);
    process.kill(-pid!, 'SIGHUP');
    await until('it has ended', async () => !(await one.state()).running, 10_000);
    expect((await run('ps')).out).not.toContain('sleep 5433');
    for (const exec of [one, other]) exec.detach();
  });

  it('report no process id that may be reused, even if the renter delays their end', async () => {
    const exec = await begin('exec 5>/proc/$PPID/fd/3; sleep 5434 & sleep 1; kill -9 $PPID; exec sleep 5435');
    await until('it runs', async () => (await exec.state()).pid !== null, 10_000);
    await until('its process is gone', async () => (await exec.state()).pid === null, 10_000);
    expect((await exec.state()).running).toBe(true);
    exec.detach();
    await run('pkill -9 -f "sleep 543[45]"');
  });

  it('don’t match their own pgrep and wait 2 s for processes they leave running', async () => {
    expect(await run('pgrep -f "wor[d]-of-none" | wc -l')).toMatchObject({ out: '0\n' });
    const began = performance.now();
    expect((await run('(sleep 1; echo late) & echo soon')).out).toBe('soon\nlate\n');
    expect((await run('while echo more; do sleep 0.01; done & echo begun')).out).toMatch(/^(begun|more\n)/);
    expect(performance.now() - began).toBeLessThan(whileBusy(8_000));
    expect((await run("printf '%s.' \"$0\" 'ÁÜ\n' '' '*'; echo \"$GPU_WATCH_COMMAND\"")).out).toBe(
      '/bin/sh.ÁÜ\n..*.\n',
    );
  });

  it('are left to the engine if the watcher can’t start', async () => {
    const shell = (script: string) => opened.engine.exec(HOSTILE, '/bin/busybox', 'sh', '-c', script);
    expect((await shell('mv /dev/null /dev/none && mkdir /dev/null')).code).toBe(0);
    const exec = await begin('exit 3', { id: HOSTILE });
    expect([exec.constructor.name, (await outcome(exec)).exitCode]).toEqual(['Object', 3]);
    expect((await shell('rmdir /dev/null && mv /dev/none /dev/null')).code).toBe(0);
  });

  it('are left to the engine if the runtime refuses or is unknown', async () => {
    const missing = engine.exec('i-00000009', { argv: ['/bin/sh'], env: {}, terminal: null, user: null });
    await expect(missing).rejects.toMatchObject({ kind: 'missing' });
    const { engineId, pid } = (await engine.inspect(ID))!;
    const spec = { argv: ['/bin/sh', '-c', 'true'], env: {}, terminal: null, user: null };
    const before = descriptors();
    const commands = new RuntimeCommands(dir);
    const known = async () => ({ engineId, pid: pid!, capabilities: [] });
    const unknown = async () => ({ engineId: NO_ENGINE_ID, pid: pid!, capabilities: [] });
    expect(await commands.exec(ID, unknown, spec)).toBeNull();
    // The argument is longer than the system accepts.
    const long = { ...spec, argv: ['/bin/sh', '-c', 'x'.repeat(200_000)] };
    expect(await commands.exec(ID, known, long)).toBeNull();
    await until('all is closed', async () => descriptors() <= before, 5_000);
  });

  it('are left to the engine while the maximum number is starting', async () => {
    const spec = { argv: ['/bin/sh', '-c', 'true'], env: {}, terminal: null, user: null };
    const commands = new RuntimeCommands(dir);
    let asked = 0;
    let answer: (none: null) => void = () => {};
    const slow = new Promise<null>((resolve) => {
      answer = resolve;
    });
    const find = () => {
      asked += 1;
      return slow;
    };
    const hold = (...ids: string[]) => ids.map((id) => commands.exec(id, find, spec));
    const held = hold('one', 'one');
    expect(await commands.exec('one', find, spec)).toBeNull();
    held.push(...hold('another', 'another'));
    expect(await commands.exec('third', find, spec)).toBeNull();
    expect(asked).toBe(4);
    answer(null);
    expect(await Promise.all(held)).toEqual([null, null, null, null]);
    await commands.exec('one', find, spec);
    expect(asked).toBe(5);
    const codes = await Promise.all(Array.from({ length: 12 }, (_, code) => run(`exit ${code}`)));
    expect(codes.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: 12 }, (_, code) => code));
  });

  it('run no program named by a renter, even if the engine’s container id is reused', async () => {
    const host = folder();
    const at = join(host, NO_ENGINE_ID);
    const named = { binary_name: join(host, 'named'), root: join(host, 'root') };
    mkdirSync(join(named.root, host.split('/').at(-1)!, NO_ENGINE_ID), { recursive: true });
    mkdirSync(at);
    writeFileSync(join(at, 'options.json'), JSON.stringify(named));
    writeFileSync(named.binary_name, `#!/bin/sh\ntouch ${host}/done\n`, { mode: 0o755 });
    const exec = await begin(`mkdir -p ${at} && cd ${at} && sleep 5436; true`);
    const pidOf = () => readdirSync('/proc').find((pid) => readOr(`/proc/${pid}/cmdline`) === 'sleep\x005436\0');
    await until('it runs', async () => pidOf() !== undefined, 10_000);
    const find = async () => ({ engineId: NO_ENGINE_ID, pid: Number(pidOf()), capabilities: [] });
    const spec = { argv: ['/bin/sh', '-c', 'true'], env: {}, terminal: null, user: null };
    expect(await new RuntimeCommands(dir).exec(ID, find, spec)).toBeNull();
    expect(existsSync(join(host, 'done'))).toBe(false);
    await hangUp(exec);
    exec.detach();
  });

  it('leave no input in the agent’s memory after they end', async () => {
    const exec = await begin('exec 5<&0; (sleep 5; wc -c <&5 > /tmp/left) & exit 0');
    exec.stdin.write('x'.repeat(60_000));
    await exec.output(new PassThrough(), new PassThrough());
    exec.detach();
    await until('the rest of the input is counted', async () => (await run('cat /tmp/left')).out !== '', 15_000);
    expect((await run('cat /tmp/left')).out).toBe('0\n');
  });

  it('can’t block the agent through a shell replaced by the renter', async () => {
    const shell = async (script: string) => {
      const write = `rm -f /bin/sh; printf '#!/bin/busybox sh\\n%s\\n' "$SCRIPT" > /bin/sh; /bin/busybox chmod 755 /bin/sh`;
      const exec = await opened.engine.exec(
        HOSTILE,
        '/bin/busybox',
        'env',
        `SCRIPT=${script}`,
        '/bin/busybox',
        'sh',
        '-c',
        write,
      );
      expect(exec.code, exec.text).toBe(0);
    };
    // The shell sends a lot of output instead of an end.
    await shell('echo r >&3; read -r go; while echo 000000000; do :; done >&3');
    const flood = await begin('true', { id: HOSTILE });
    await flood.output(new PassThrough(), new PassThrough());
    expect(await flood.state()).toMatchObject({ running: false, exitCode: 137 });
    flood.detach();
    // The shell sends an invalid code, or output without an end.
    await shell('echo r >&3; read -r go; echo b >&3; echo 7x >&3; exec /bin/busybox sleep 2');
    const other = await begin('true', { id: HOSTILE });
    await other.output(new PassThrough(), new PassThrough());
    expect(await other.state()).toMatchObject({ running: false, exitCode: 137 });
    other.detach();
    // The shell exits before the start signal, as it does when the engine starts it.
    await shell('exit 5');
    expect(await run('true', { id: HOSTILE })).toMatchObject({ exitCode: 5, out: '' });
  });

  it('leave nothing behind', async () => {
    const before = descriptors();
    for (let turn = 0; turn < 5; turn += 1) await run('cat < /dev/null');
    const isTidy = async () => descriptors() <= before && readdirSync(dir).length === 0;
    await until('all is closed and forgotten', isTidy, 5_000);
    const { out } = await run('cat /proc/[0-9]*/cmdline 2> /dev/null', { env: ELSEWHERE });
    expect(out).toContain('/bin/sh');
    expect(out).not.toContain('gpu-watch');
  });
});
