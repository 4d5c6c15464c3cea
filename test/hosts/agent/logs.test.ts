import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { containerName, type Engine, type LogsSpec } from '../../../src/agent/engine/engine.js';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import { type EngineName, needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import type { TestRegistry } from '../../support/hosts/registry.js';
import { sharedEngine, sharedRegistry } from '../../support/hosts/shared.js';
import { until } from '../../support/until.js';

const TALKER = 'i-00000001';
const SILENT = 'i-00000002';
const PIECES = 'i-00000003';
const LINES = 250;
/** Docker withholds unfinished lines. */
const PIECES_READ = {
  podman: ['out-piece rest', 'name: ', 'err line', '10%\r20%\r'],
  docker: ['out-piece rest', 'err line'],
};

/** Reads from the engine itself, because later code may drop lines but can't add any that the engine didn't send. */
describe.each<EngineName>(['podman', 'docker'])("a container's log on %s", (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let registry: TestRegistry;
  let running: TestEngine;
  let engine: Engine;

  const run = async (id: string, script: string) => {
    const imageId = (await engine.imageId(`${registry.at}/busybox:latest`))!;
    const command = ['/bin/sh', '-c', script];
    const nothing = {
      entrypoint: null,
      gpus: null,
      cpus: null,
      workspace: null,
      volumes: [],
      secrets: null,
      quotaGb: null,
      user: null,
      fuse: false,
    };
    const rest = { ...nothing, env: {}, vcpus: 1, memoryMb: 64 };
    await engine.create({ instanceId: id, machineId: 'm-test', start: 1, imageId, command, ...rest });
    await engine.start(id);
  };
  const read = async (id: string, spec: Partial<LogsSpec>): Promise<string[]> => {
    const { output } = await engine.logs(
      id,
      { tail: null, since: null, follow: false, ...spec },
      AbortSignal.timeout(20_000),
    );
    const [out, err] = [new PassThrough(), new PassThrough()];
    const both = Promise.all([text(out), text(err)]);
    await output(out, err);
    out.end();
    err.end();
    const lines = (await both).flatMap((one) => one.split('\n')).filter((line) => line !== '');
    return lines.map((line) => line.replace(/^\S+ /, ''));
  };
  const numbers = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => String(from + index));

  beforeAll(async () => {
    registry = await sharedRegistry();
    running = await sharedEngine(name);
    engine = await openEngine(running.socket, null);
    await registry.push('busybox');
    await running.pull(`${registry.at}/busybox:latest`);
    // More than a second passes between the two parts, because `since` is in whole seconds.
    await run(
      TALKER,
      `i=1; while [ $i -le ${LINES} ]; do echo $i; i=$((i+1)); done; sleep 3; echo late; exec sleep 600`,
    );
    await run(
      PIECES,
      `printf out-piece; sleep 0.2; echo err line >&2; sleep 0.2; echo ' rest'; printf '10%%\\r' >&2; sleep 0.2; printf '20%%\\r' >&2; printf 'name: '; exec sleep 600`,
    );
    await run(SILENT, 'while [ ! -e /speak ]; do sleep 0.1; done; echo first; exec sleep 600');
    await until('all is written', async () => (await read(TALKER, {})).includes('late'), 20_000);
  });
  afterAll(async () => {
    await running?.close();
    await registry?.close();
  });

  it("contains whole lines, with each line's pieces in order", async () => {
    const all = PIECES_READ[name];
    await until('all is written', async () => (await read(PIECES, {})).join() === all.join(), 20_000);
    for (const tail of [1, 2, 3]) {
      const lines = await read(PIECES, { tail });
      expect(lines.length).toBeGreaterThanOrEqual(Math.min(tail, all.length));
      expect(all.filter((line) => lines.includes(line))).toEqual(lines);
    }
  });

  it('is limited to the requested number of last lines', async () => {
    for (const tail of [1, 9, 10, 25, 100, 137]) {
      expect((await read(TALKER, { tail })).slice(-tail)).toEqual([...numbers(LINES - tail + 2, LINES), 'late']);
    }
    expect(await read(TALKER, {})).toHaveLength(LINES + 1);
  });

  it('starts at the requested second', async () => {
    const { State } = await running.docker.getContainer(containerName(TALKER)).inspect();
    const begun = Math.floor(Date.parse(State.StartedAt) / 1_000);
    expect(await read(TALKER, { since: begun + 2 })).toEqual(['late']);
    expect(await read(TALKER, { since: begun - 10 })).toHaveLength(LINES + 1);
    expect(await read(TALKER, { since: begun + 3_600 })).toEqual([]);
  });

  it('can be followed before anything has been written', async () => {
    const ending = new AbortController();
    const { output } = await engine.logs(SILENT, { tail: null, since: null, follow: true }, ending.signal);
    const [out, err] = [new PassThrough(), new PassThrough()];
    const ended = output(out, err).catch(() => {});
    await running.exec(TALKER, 'true');
    await running.exec(SILENT, 'touch', '/speak');
    const [line] = (await new Promise<Buffer>((resolve) => out.once('data', resolve))).toString().split('\n');
    expect(line).toMatch(/ first$/);
    ending.abort();
    await ended;
  });
});
