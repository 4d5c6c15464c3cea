import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseValue } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enrol } from '../../src/domain/fleet/enrolment.js';
import { PACKAGE_ROOT } from '../../src/std/package-root.js';
import { inQuotes, jsonText, shellWord, stringLiteral } from '../../web/figures/quoting.js';
import { type Order, sameAs, WAYS, type Way } from '../../web/figures/same-as.js';
import { GPU } from '../support/cli/gpu.js';
import { freePorts } from '../support/free-port.js';
import type { Renter } from '../support/gateway.js';
import { cleanUp, folder, run } from '../support/process.js';
import { type Service, startService } from '../support/service.js';
import { needs } from '../support/tools.js';
import { WireAgent } from '../support/wire-agent.js';

/** Texts with characters that are invisible or have a meaning in shells, Python or JSON, at every position. */
const PIECES = [
  "'",
  '"',
  '\\',
  '$HOME',
  '$(id)',
  '`id`',
  '!!',
  '\n',
  '\r\n',
  '\t',
  ' ',
  '*',
  '?',
  '~',
  '#',
  ';',
  '&',
  '|',
  '<',
  '>',
  '(',
  '{',
  '%s',
  '\\n',
  '\\u0041',
  "'\\''",
  "$'",
  '"""',
  '=',
  '-',
  '--',
  'ü',
  '漢字',
  '🦊',
  '\u202e',
  '\u200b',
  '\u2028',
  '\ufeff',
  '\u001b[31m',
  '\u0003',
  '\u007f',
  '\u0085',
  '\u00ad',
  'a',
  '0',
  '',
] as const;
/** Every single character and every pair. */
const HOSTILE = [...new Set(PIECES.flatMap((one) => PIECES.map((other) => `${one}${other}`)))];
/** Later than 2026-11-20, the date on the test gateway's clock. */
const STOP_AT = '2026-11-21T18:00:00Z';
const DESTROY_AT = '2026-11-22T18:00:00Z';
const SEEN = /[^\P{C}\n]/u;

describe('copyable code', needs('bash', 'curl', 'python3'), () => {
  let service: Service;
  let renter: Renter;
  let bin: string;

  beforeAll(async () => {
    service = await startService({ secretsKeys: ['ab'.repeat(32)], tcpPorts: await freePorts(10) });
    renter = await service.renter('1000');
    bin = join(folder(), 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'gpu'), `#!/bin/sh\nexec '${process.execPath}' '${GPU}' "$@"\n`);
    await chmod(join(bin, 'gpu'), 0o755);
  });
  afterAll(async () => {
    await service?.close();
    await cleanUp();
  });

  const env = () => ({
    PATH: `${bin}:${process.env.PATH}`,
    LANG: 'C.UTF-8',
    GPU_API_KEY: renter.key,
    HOME: bin,
    PYTHONPATH: join(PACKAGE_ROOT, 'sdk/python'),
  });
  const bash = (script: string) => run(['-c', script], env(), { interpreter: 'bash' }).ended;

  it.each([
    ['a shell', (text: string) => text !== '\0', shellWord, 'printf %s\\\\0 '],
    ['a shell, in quotes', (text: string) => text !== '\0', inQuotes, 'printf %s\\\\0 '],
  ])('passes each hostile text unchanged to %s', async (_, isPossible, quoted, printf) => {
    const texts = HOSTILE.filter((text) => text !== '' && isPossible(text));
    const { stdout, stderr } = await bash(`for word in ${texts.map(quoted).join(' ')}; do ${printf} "$word"; done`);
    expect(stderr).toBe('');
    expect(stdout.split('\0').slice(0, -1)).toEqual(texts);
  });

  it('keeps empty words and contains no hidden characters', () => {
    expect(shellWord('')).toBe("''");
    const all = HOSTILE.flatMap((text) => [
      shellWord(text),
      stringLiteral(text),
      jsonText({ text }).replaceAll('\n', ''),
    ]);
    expect(all.filter((text) => SEEN.test(text))).toEqual([]);
  });

  it('passes each hostile text unchanged to Python, JSON and GraphQL', async () => {
    expect(HOSTILE.map((text) => JSON.parse(stringLiteral(text)))).toEqual(HOSTILE);
    expect(JSON.parse(jsonText(HOSTILE))).toEqual(HOSTILE);
    const script = `import json, sys\nsys.stdout.write(json.dumps([\n${HOSTILE.map(stringLiteral).join(',\n')}]))`;
    const { stdout, stderr } = await run(['-c', script], env(), { interpreter: 'python3' }).ended;
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toEqual(HOSTILE);
    expect(HOSTILE.map((text) => parseValue(stringLiteral(text)))).toMatchObject(HOSTILE.map((value) => ({ value })));
  });

  /** Rents in each way. Only the resulting instance matters, not the output. */
  const rent: Record<Way, (text: string) => Promise<string>> = {
    gpu: async (text) => (await bash(text)).stderr,
    curl: async (text) => {
      const { stdout } = await bash(text.replace('curl ', 'curl -sS '));
      return stdout.includes('"error"') ? stdout : '';
    },
    python: async (text) => (await run(['-c', text], env(), { interpreter: 'python3' }).ended).stderr,
    graphql: async (text) => {
      const variables = JSON.parse(/^# Variables: (.*)/.exec(text)?.[1] ?? '{}');
      return JSON.stringify((await renter.graphql(text, variables)).body.errors ?? '');
    },
  };
  const FIELDS = `template diskGb mode stopAt destroyAt spendLimit stopWhenIdle labels volumes { path }
    launch { name env secrets { secret variable file } entrypoint command ports { port name } tcpPorts registryLogin user restart onExit }`;
  const newest = async () => {
    const { body } = await renter.graphql(`{ instances { id ${FIELDS} } }`);
    return body.data.instances as { id: string }[];
  };
  /** Creates a machine whose agent reports how busy it is. */
  const machine = async () => {
    // Only a few machines may join from one address per minute.
    service.clock.advance(61);
    const { code } = await enrol(service.deps, {
      machineId: null,
      gpu: null,
      region: 'us-tx',
      online: true,
      demo: false,
    });
    const agent = await WireAgent.join(service.address, code);
    const isOffered = async () => {
      await agent.report();
      return (
        (await renter.graphql(`{ offer(machineId: "${agent.machineId}") { machineId } }`)).body.data.offer !== null
      );
    };
    await expect.poll(isOffered, { timeout: 20_000 }).toBe(true);
    return agent.machineId;
  };
  const volume = async () => {
    const name = `v${Math.random().toString(36).slice(2, 8)}`;
    const { body } = await renter.graphql(`mutation { createVolume(input: { name: "${name}", sizeGb: 1 }) { id } }`);
    return body.data.createVolume.id as string;
  };

  const ORDERS: [string, Partial<Order>][] = [
    ['what the page says when it is opened', { template: 'pytorch', diskGb: 50, mode: 'ON_DEMAND' }],
    [
      'all that the form can say',
      {
        template: 'ghcr.io/acme/train:1.2',
        diskGb: 60,
        mode: 'INTERRUPTIBLE',
        stopAt: STOP_AT,
        destroyAt: DESTROY_AT,
        spendLimit: 12.5,
        stopWhenIdle: 90,
        labels: { team: "it's" },
        launch: {
          name: 'by-hand',
          env: {
            QUOTES: `'"\`$HOME$(id)\\`,
            LINES: 'a\nb\r\n\tc\n',
            HIDDEN: '\u202eü漢字🦊\u001b',
            EQUALS: '=a=b',
            EMPTY: '',
          },
          secrets: [
            { secret: 'hf', variable: 'HF_TOKEN' },
            { secret: 'hf', file: 'token' },
          ],
          entrypoint: ['--odd', 'it is "so"'],
          command: ['-c', `echo '$HOME' "\`id\`"\nexit 3`, '', '--title=ü'],
          ports: [{ port: 8000, name: "the API's" }, { port: 8080 }],
          tcpPorts: [5432],
          registryLogin: 'hub',
          user: '1000:staff',
          restart: 'ON_FAILURE',
          onExit: 'STOP',
        },
      },
    ],
    [
      'a reserved one',
      {
        template: 'vllm',
        diskGb: 10,
        mode: 'RESERVED',
        stopWhenIdle: 120,
        labels: { 'acme.io/cost-center': '\u2028 $HOME' },
        launch: { restart: 'NEVER', onExit: 'KEEP' },
      },
    ],
  ];

  it('makes the same rental in every form, including launch, volumes and limits', async () => {
    for (const input of [
      '{ name: "hf", value: "x" }',
      '{ name: "hub", registry: "ghcr.io", username: "a", value: "x" }',
    ])
      expect((await renter.graphql(`mutation { createSecret(input: ${input}) { name } }`)).body.errors).toBeUndefined();
    for (const [what, asked] of ORDERS) {
      const order = async (): Promise<Order> => ({
        ...asked,
        machineId: await machine(),
        ...(what.startsWith('all') && { volumes: [{ id: await volume(), path: "/kept/my data's" }] }),
      });
      const reference = await order();
      const { body } = await renter.graphql(`mutation ($input: DeployInput!) { deploy(input: $input) { id } }`, {
        input: reference,
      });
      expect(body.errors, what).toBeUndefined();
      const [{ id: _, ...wanted }] = (await newest()) as [{ id: string }];
      for (const way of WAYS) {
        const before = (await newest()).length;
        const text = sameAs(way, await order(), `${service.address}/v1`);
        expect(text).not.toContain(renter.key);
        const complaint = await rent[way](text);
        const after = await newest();
        expect([complaint, after.length], `${what} by ${way}:\n${text}`).toEqual([
          way === 'graphql' ? '""' : '',
          before + 1,
        ]);
        const { id: __, ...got } = after[0]!;
        expect(got, `${what} by ${way}`).toEqual(wanted);
      }
    }
  });
});
