import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { gpu } from '../../support/cli/command.js';
import { GPU, gpu as gpuProcess, readable } from '../../support/cli/gpu.js';
import { openWire, refusal, type Wire } from '../../support/client-wire.js';
import type { Renter } from '../../support/gateway.js';
import { cleanUp, type Env, folder, run } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';
import { needs } from '../../support/tools.js';

const { version } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'));
const SNAPSHOTS = join(import.meta.dirname, '__snapshots__');

let service: Service;
let wire: Wire;
let renter: Renter;
let env: Env;

beforeAll(async () => {
  service = await startService({ secretsKeys: ['5'.repeat(64)] });
  wire = await openWire(service.address);
  renter = await service.renter('100000');
  env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${service.address}/v1`, GPU_API_KEY: renter.key };
});
afterAll(async () => {
  await wire.close();
  await service.close();
  await cleanUp();
});

function bodyOf(path: string, key = renter.key): Promise<string> {
  const headers = { authorization: `Bearer ${key}` };
  return fetch(`${service.address}/v1${path}`, { headers }).then((response) => response.text());
}

async function idOf(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await gpu([...args, '--quiet'], env);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^\S+\n$/);
  return stdout.trim();
}

describe('the gpu command in a script', () => {
  it('handles a whole rental, from the prices to the final balance', async () => {
    const slugs = (await gpu(['pricing', '--quiet'], env)).stdout.trim().split('\n');
    expect(slugs).toHaveLength(83);
    const machine = await idOf(['offers', '--gpu', slugs.find((slug) => slug === 'rtx-4090')!, '--limit', '1']);
    const id = await idOf(['deploy', machine, '--disk-gb', '60', '--type', 'interruptible', '--template', 'pytorch']);
    expect(JSON.parse(await bodyOf(`/instances/${id}`))).toMatchObject({
      disk_gb: 60,
      type: 'spot',
      status: 'running',
    });
    service.clock.advance(3_600);
    expect(await idOf(['stop', id])).toBe(id);
    expect((await gpu(['show', id], env)).stdout).toMatch(/^Status +stopped$/m);
    expect(await idOf(['start', id])).toBe(id);
    expect(await idOf(['instances'])).toBe(id);
    expect(await idOf(['destroy', id, '--yes'])).toBe(id);
    expect((await gpu(['instances'], env)).stdout).toBe('');
    const { balance, month_spend } = JSON.parse(await bodyOf('/balance'));
    const { stdout } = await gpu(['balance'], env);
    expect(stdout).toBe(`Balance           ${balance} USD\nSpent this month  ${month_spend} USD\n`);
    expect(balance).toBeLessThan(100_000);
  });

  it('prints plain, complete tables regardless of the terminal’s width', async () => {
    const { stdout } = await gpuProcess(['offers', '--gpu', 'h100-sxm', '--num-min', '8', '--limit', '3'], {
      ...env,
      COLUMNS: '20',
      TERM: 'xterm-256color',
    });
    await expect(readable(stdout)).toMatchFileSnapshot(join(SNAPSHOTS, 'offers.piped.txt'));
  });

  it('prints the service’s response byte for byte with --json', async () => {
    const { id } = (await renter.rest('POST', '/instances', { machine_id: await service.machine() })).body;
    for (const [args, path] of [
      [['pricing'], '/gpus/pricing'],
      [
        ['offers', '--gpu', 'rtx-4090', '--region', 'us-tx', '--num-min', '2', '--price-max', '9.5', '--limit', '7'],
        '/offers?gpu=rtx-4090&region=us-tx&num_min=2&price_max=9.5&limit=7',
      ],
      [['balance'], '/balance'],
      [['instances'], '/instances'],
      [['show', id], `/instances/${id}`],
    ] as const) {
      const { code, stdout } = await gpu([...args, '--json'], env);
      expect([code, stdout]).toEqual([0, await bodyOf(path)]);
    }
    const stopped = await gpu(['stop', id, '--json'], env);
    expect(stopped.stdout).toBe(await bodyOf(`/instances/${id}`));
    const destroyed = await gpu(['destroy', id, '--yes', '--json'], env);
    expect(destroyed.stdout).toBe(`{"object":"instance","id":"${id}","status":"destroyed"}`);
    const refused = await gpu(['show', 'i-00000000', '--json'], env);
    expect([refused.code, refused.stdout]).toEqual([1, await bodyOf('/instances/i-00000000')]);
  });

  it('excludes more expensive machines with --price-max', async () => {
    const { stdout } = await gpu(
      ['offers', '--gpu', 'rtx-4090', '--num-min', '2', '--price-max', '1', '--limit', '100', '--json'],
      env,
    );
    expect(stdout).toBe(await bodyOf('/offers?gpu=rtx-4090&num_min=2&price_max=1&limit=100'));
    expect(stdout).not.toBe(await bodyOf('/offers?gpu=rtx-4090&num_min=2&limit=100'));
  });

  it('prints one response after another with --watch until it is interrupted', async () => {
    const program = run([GPU, 'offers', '-w', '1', '--json', '--limit', '1'], env);
    await program.says(/\n\{.*\n/);
    program.signal('SIGTERM');
    const [first, second] = (await program.ended).stdout.split('\n');
    expect([first, second]).toEqual([await bodyOf('/offers?limit=1'), first]);
  });

  it('deploys only once if the response is lost', async () => {
    const machine = await service.machine();
    wire.next('lose answer');
    const { code, stdout } = await gpu(['deploy', machine, '-q'], { ...env, GPU_BASE_URL: wire.baseUrl });
    expect(code).toBe(0);
    expect(await service.sql('select id from instance where machine_id = $1', [machine])).toEqual([
      { id: stdout.trim() },
    ]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'prints the idempotency key when %s ends a deploy, so a retry finds the outcome',
    async (signal) => {
      const machine = await service.machine();
      wire.next('lose answer', 'hang');
      const program = run([GPU, 'deploy', machine], { ...env, GPU_BASE_URL: wire.baseUrl });
      await expect.poll(() => wire.seen.length, { timeout: 60_000 }).toBe(2);
      program.signal(signal);
      const { code, stdout, stderr } = await program.ended;
      expect([code, stdout]).toEqual([130, '']);
      expect(stderr).toMatch(
        /^gpu: interrupted; the service may have executed the request: `gpu instances` lists [^\n]+\n$/,
      );
      const key = /--idempotency-key (\S+)/.exec(stderr)![1]!;
      expect(wire.seen.map(({ headers }) => headers['idempotency-key'])).toEqual([key, key]);
      const id = await idOf(['deploy', machine, '--idempotency-key', key]);
      expect(await service.sql('select id from instance where machine_id = $1', [machine])).toEqual([{ id }]);
    },
  );

  it.each([
    ['stop', ['stop', 'i-00000000', '--idempotency-key', 'evening-1']],
    ['destroy', ['destroy', 'i-00000000', '--yes', '--idempotency-key', 'evening-1']],
  ])('prints the given idempotency key when the %s command is interrupted', async (_, args) => {
    wire.next('hang');
    const program = run([GPU, ...args], { ...env, GPU_BASE_URL: wire.baseUrl });
    await expect.poll(() => wire.seen.length, { timeout: 60_000 }).toBe(1);
    program.signal('SIGINT');
    const { code, stderr } = await program.ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining('--idempotency-key evening-1 ')]);
  });

  it('reports that it is rate limited, unless the wait is short', async () => {
    wire.next('lose request', refusal(429, 'rate_limited', '1'));
    const { code, stdout, stderr } = await gpu(['balance'], { ...env, GPU_BASE_URL: wire.baseUrl });
    expect([code, stderr]).toEqual([0, 'gpu: rate limited; trying again in 1 s (3 of 5)\n']);
    expect(stdout).toMatch(/^Balance /);
  });

  it('deploys once per idempotency key', async () => {
    const args = ['deploy', await service.machine(), '--idempotency-key', 'nightly-7'];
    expect(await idOf(args)).toBe(await idOf(args));
  });

  it('escapes colours and cursor movements in text from others', async () => {
    const machine = await service.machine({ gpu: 'a10', region: 'us-tx' });
    await service.sql(`update machine set cpu = E'EPYC\\u001b[2J\\u0007' where id = $1`, [machine]);
    const { stdout } = await gpu(['offers', '--gpu', 'a10', '--region', 'us-tx', '--limit', '100'], env);
    expect(stdout).toContain('EPYC\\u001b[2J\\u0007');
  });
});

describe('exit codes', () => {
  it('are returned by the process after its complete output', async () => {
    const gone = await openWire(service.address);
    await gone.close();
    const ended = async (args: string[], more: Env = {}) => {
      const { code, stdout } = await gpuProcess(args, { ...env, ...more });
      return [code, stdout];
    };
    expect(await ended(['pricing', '--json'])).toEqual([0, await bodyOf('/gpus/pricing')]);
    expect(await ended(['show', 'i-00000000'])).toEqual([1, '']);
    expect(await ended(['rent'])).toEqual([2, '']);
    expect(await ended(['deploy', 'm-1'], { GPU_BASE_URL: gone.baseUrl })).toEqual([3, '']);
  });

  it.each([
    [['show', 'i-00000000'], 'gpu: no such instance (not_found)\n'],
    [['deploy', 'm-unknown'], /^gpu: .*\(deploy_failed\)\n$/],
    [['offers', '--limit', '101'], 'gpu: limit must be a whole number from 1 to 100 (invalid_request)\n'],
    [['offers', '--num-min', '-1'], /^gpu: num_min .*\(invalid_request\)\n$/],
  ])('are 1 if the service refuses the request: %j', async (args, said) => {
    const { code, stdout, stderr } = await gpu(args, env);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(said);
  });

  it('are 1 for an unknown key', async () => {
    const { code, stderr } = await gpu(['balance'], { ...env, GPU_API_KEY: 'wrong' });
    expect([code, stderr]).toEqual([1, 'gpu: missing or unknown API key (unauthorized)\n']);
  });

  it('are 1 for an internal service error, with the request id shown', async () => {
    wire.next({ ...refusal(500, 'internal'), headers: { 'x-request-id': 'r-1' } });
    const { code, stderr } = await gpu(['balance'], { ...env, GPU_BASE_URL: wire.baseUrl });
    expect([code, stderr]).toEqual([1, 'gpu: this is internal (internal, request r-1)\n']);
  });

  it.each([
    [[], /^Usage: gpu /],
    [['rent'], "gpu: unknown command 'rent' (Did you mean run?); `gpu --help` lists the commands\n"],
    [['show'], "gpu: missing required argument 'instance'; see `gpu show --help`\n"],
    [['offers', '--cheap'], "gpu: unknown option '--cheap'"],
    [['offers', '--limit', 'ten'], /^gpu: .*'ten' is invalid: must be a number; see `gpu offers --help`\n$/],
    [['offers', '--watch', '0'], /^gpu: .*whole number of seconds from 1 to 3600/],
    [['deploy', 'm-1', '--type', 'weekly'], /^gpu: .*Allowed choices are od, interruptible, res, spot/],
    [['deploy', 'm-1', '--idempotency-key', 'a b'], /^gpu: .*visible ASCII/],
    [['destroy', 'i-00000000'], /^gpu: .*confirm with --yes\n$/],
    [
      ['--base-url', 'nonsense', 'pricing'],
      'gpu: --base-url must be a URL such as https://gpu.example.com/v1; got nonsense\n',
    ],
    [['completion', 'tcsh'], /^gpu: .*Allowed choices are bash, zsh, fish/],
  ])('are 2 for wrong usage: %j', async (args, said) => {
    const { code, stdout, stderr } = await gpu(args, env);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(said);
    expect(stderr.endsWith('\n')).toBe(true);
  });

  it('are 2 without a key, before anything is sent', async () => {
    wire.next();
    const { code, stderr } = await gpu(['balance'], { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: wire.baseUrl });
    expect([code, readable(stderr)]).toEqual([
      2,
      'gpu: no API key for http://gateway/v1. Run `gpu login`, or set GPU_API_KEY\n',
    ]);
    expect(wire.seen).toEqual([]);
  });

  it('are 3 without a connection, with the idempotency key printed for a retry', async () => {
    const gone = await openWire(service.address);
    await gone.close();
    const { code, stdout, stderr } = await gpu(['deploy', 'm-1'], { ...env, GPU_BASE_URL: gone.baseUrl });
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toMatch(/^gpu: no connection to \S+: ECONNREFUSED\n/);
    expect(stderr).toMatch(/it is safe to repeat the command with --idempotency-key [0-9a-f-]{36}\n$/);
  });

  it('are 3 if another program responds instead of the service', async () => {
    wire.next({ status: 200, body: '<html>Welcome to the hotel</html>' });
    const { code, stderr } = await gpu(['pricing'], { ...env, GPU_BASE_URL: wire.baseUrl });
    expect(code).toBe(3);
    expect(stderr).toContain('unexpected response from');
  });

  it('are 0 for help and version', async () => {
    const { code, stdout } = await gpuProcess(['--help'], env);
    expect(code).toBe(0);
    await expect(stdout).toMatchFileSnapshot(join(SNAPSHOTS, 'help.txt'));
    expect(await gpuProcess(['--version'], env)).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it('are 0 if the output’s reader stops early', async () => {
    const program = run([GPU, 'pricing'], env, { prefix: ['sh', '-c', '"$@" | true; echo done', 'sh'] });
    const { stdout, stderr } = await program.ended;
    expect([stdout, stderr]).toEqual(['done\n', '']);
  });
});

describe('login', () => {
  let home: Env;
  let file: string;

  beforeAll(() => {
    home = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${service.address}/v1` };
    file = join(home.XDG_CONFIG_HOME!, 'gpu/config.json');
  });

  it('saves a verified key privately, which config masks and logout deletes', async () => {
    const told = [await gpu(['config'], home)];
    told.push(await gpuProcess(['login'], home, `${renter.key}\n`));
    expect(told[1]!.code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ base_url: home.GPU_BASE_URL, api_key: renter.key });
    const alone = { XDG_CONFIG_HOME: home.XDG_CONFIG_HOME! };
    expect((await gpu(['balance', '--json'], alone)).stdout).toBe(await bodyOf('/balance'));
    told.push(await gpu(['config'], alone));
    told.push(await gpu(['config'], { ...alone, GPU_API_KEY: 'gpu_live_other', GPU_BASE_URL: 'http://127.0.0.1:1' }));
    told.push(await gpu(['logout'], home), await gpu(['logout'], home), await gpu(['balance'], home));
    const text = told.map(({ code, stdout, stderr }) => `${stdout}${stderr}exit code ${code}\n`).join('\n');
    expect(text).not.toContain(renter.key);
    await expect(readable(text).replace(/balance \S+ USD/, 'balance ······ USD')).toMatchFileSnapshot(
      join(SNAPSHOTS, 'login.piped.txt'),
    );
  });

  it('rejects a key refused by the service and keeps the previous one', async () => {
    await gpu(['login'], home, renter.key);
    const before = readFileSync(file, 'utf8');
    expect(await gpu(['login'], home, 'wrong')).toMatchObject({ code: 1 });
    expect(await gpu(['login'], home, '')).toMatchObject({ code: 2 });
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('restricts a file readable by others to its owner', async () => {
    writeFileSync(file, '{"base_url":"http://127.0.0.1:1/v1","api_key":"old"}', { mode: 0o644 });
    expect(await gpu(['login'], home, renter.key)).toMatchObject({ code: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('sends the key only to the service that accepted it', async () => {
    await gpu(['login'], home, renter.key);
    wire.next();
    const { code, stderr } = await gpu(['--base-url', wire.baseUrl, 'balance'], {
      XDG_CONFIG_HOME: home.XDG_CONFIG_HOME!,
    });
    expect(code).toBe(2);
    expect(stderr).toContain(`the login is for ${home.GPU_BASE_URL}`);
    expect(wire.seen).toEqual([]);
  });

  it('reports an invalid login file, which logout removes', async () => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '{');
    const { code, stderr } = await gpu(['balance'], home);
    expect(code).toBe(2);
    expect(stderr).toContain('was not written by `gpu login`');
    expect(await gpu(['logout'], home)).toMatchObject({ code: 0 });
  });
});

describe('completion', () => {
  it('offers commands, options, choices and instance ids in bash', needs('bash'), async () => {
    const { id } = (await renter.rest('POST', '/instances', { machine_id: await service.machine() })).body;
    const bin = folder();
    writeFileSync(join(bin, 'gpu'), `#!/bin/sh\nexec '${process.execPath}' '${GPU}' "$@"\n`, { mode: 0o755 });
    const functions = join(folder(), 'completion.bash');
    writeFileSync(functions, (await gpu(['completion', 'bash'], env)).stdout);
    const complete = async (...words: string[]) => {
      const script = `. '${functions}'; COMP_LINE="$*" COMP_POINT=\${#COMP_LINE}; _gpu; echo "\${COMPREPLY[@]}"`;
      const path = `${bin}:${process.env.PATH ?? '/usr/bin:/bin'}`;
      // Bash ignores the prefix before node when it counts words.
      const prefix = ['env', `PATH=${path}`, 'bash', '--norc', '-c', `shift; ${script}`, 'bash'];
      const { stdout, stderr } = await run(words, env, { prefix }).ended;
      expect(stderr).toBe('');
      return stdout.trim();
    };
    expect(await complete('gpu', 'st')).toBe('start stop statement');
    expect(await complete('gpu', 'offers', '--n')).toBe('--num-min');
    expect(await complete('gpu', 'deploy', 'm-1', '--type', '')).toBe('od interruptible res spot');
    expect(await complete('gpu', 'completion', '')).toBe('bash zsh fish');
    expect((await complete('gpu', '--base-url', env.GPU_BASE_URL!, 'stop', 'i-')).split(' ')).toContain(id);
    expect(await complete('gpu', `--base-url=${env.GPU_BASE_URL}`, 'help', 'des')).toBe('destroy');
    expect(await complete('gpu', '--base-url', '')).toBe('');
  });

  // Here bash itself splits the line, including at colons.
  it('works at a bash prompt, even after a URL or `help`', needs('script', 'bash'), async () => {
    const { key, rest } = await service.renter('1000');
    const { id } = (await rest('POST', '/instances', { machine_id: await service.machine() })).body;
    const bin = folder();
    writeFileSync(join(bin, 'gpu'), `#!/bin/sh\nexec '${process.execPath}' '${GPU}' "$@"\n`, { mode: 0o755 });
    const nowhere = { ...env, GPU_API_KEY: key, GPU_BASE_URL: 'http://127.0.0.1:1/v1', TERM: 'dumb', PS1: 'ready> ' };
    const path = `${bin}:${process.env.PATH ?? '/usr/bin:/bin'}`;
    const command = 'exec script -qefc "stty cols 200; exec bash --norc --noprofile -i" /dev/null';
    const bash = run([], nowhere, { prefix: ['env', `PATH=${path}`, 'sh', '-c', command] });
    onTestFinished(() => bash.signal('SIGKILL'));
    await bash.says(/ready> /);
    bash.stdin.write('eval "$(gpu completion bash)" && echo load"ed"\n');
    await bash.says(/^loaded/m);
    bash.stdin.write(`gpu --base-url ${env.GPU_BASE_URL} show i-\t\n`);
    await bash.says(new RegExp(`^Instance +${id}`, 'm'));
    bash.stdin.write(`gpu --base-url=${env.GPU_BASE_URL} pri\t --quiet\n`);
    await bash.says(/^h100-sxm/m);
    bash.stdin.write('gpu help dep\t\n');
    await bash.says(/^Usage: gpu deploy/m);
    bash.stdin.write('exit\n');
    expect((await bash.ended).code).toBe(0);
  });

  it('names every command in zsh and fish', async () => {
    const { stdout: help } = await gpu(['--help'], env);
    const names = help
      .split('\nExamples')[0]!
      .split('\n')
      .flatMap((line) => /^.{12}([a-z-]+(?:, [a-z-]+)*) {2,}/.exec(line)?.[1]?.split(', ') ?? []);
    expect(names.length).toBeGreaterThan(30);
    for (const shell of ['zsh', 'fish']) {
      const { code, stdout } = await gpu(['completion', shell], env);
      expect(code).toBe(0);
      for (const name of names) expect(stdout).toContain(name);
    }
  });
});
