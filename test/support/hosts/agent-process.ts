import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MachineFile } from '../../../src/agent/machine-file.js';
import type { DesiredInstance, Hardware } from '../../../src/agent-protocol/protocol.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import type { TestEngine } from './engines.js';
import { mountsBelow } from './leftovers.js';
import { type ScriptedGateway, TOKEN } from './scripted-gateway.js';

const ONE_FILE = join(PACKAGE_ROOT, 'dist/gpu-agent.mjs');
/** The agent within the package. Its `try` command enrols through the operator's command, which is next to it. */
const IN_PACKAGE = join(PACKAGE_ROOT, 'dist/src/agent/main.js');
export const MACHINE = 'm-test';

export interface Exit {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Starts the built agent as an operator does. */
export function runAgent(args: string[], env: Record<string, string> = {}, stderrFd: number | 'pipe' = 'pipe') {
  const main = args[0] === 'try' ? IN_PACKAGE : ONE_FILE;
  if (!existsSync(main)) throw new Error('the tests run what `npm run build` made: build first');
  const { PATH = '/usr/bin:/bin' } = process.env;
  const child: ChildProcess = spawn(process.execPath, [main, ...args], {
    env: { PATH, ...env },
    stdio: ['pipe', 'pipe', stderrFd],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise<Exit>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })));
  return {
    pid: child.pid!,
    stderr: () => stderr,
    stdout: () => stdout,
    ended,
    async end(signal: NodeJS.Signals): Promise<Exit> {
      child.kill(signal);
      return ended;
    },
  };
}

/** A host that has joined as a machine with simulated GPUs, and its agent. */
export class TestHost {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'agent-host-'));
  #agent: ReturnType<typeof runAgent> | null = null;
  readonly logs: string[] = [];

  constructor(
    private readonly engine: TestEngine,
    private readonly gateway: ScriptedGateway,
    { diskLimit = 'volume', gpus = 2 }: { diskLimit?: Hardware['diskLimit']; gpus?: number } = {},
  ) {
    new MachineFile(this.dataDir).write({
      gateway: gateway.url,
      machineId: MACHINE,
      token: TOKEN,
      gpu: 'rtx-4090',
      diskLimit,
      pretended: gpus === 0 ? null : { count: gpus, name: 'NVIDIA GeForce RTX 4090', vramMb: 24_576 },
    });
  }

  start(env: Record<string, string> = {}, stderr?: number): void {
    const args = ['run', '--data-dir', this.dataDir, '--engine', this.engine.socket];
    const GPU_AGENT_REGISTRIES = this.engine.registries.join();
    const settings = { LOG_LEVEL: 'debug', GPU_AGENT_STOP_SECONDS: '2', GPU_AGENT_REGISTRIES, ...env };
    this.#agent = runAgent(args, settings, stderr);
  }

  get log(): string {
    return [...this.logs, this.#agent?.stderr() ?? ''].join('');
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit | null> {
    const exit = (await this.#agent?.end(signal)) ?? null;
    this.logs.push(exit?.stderr ?? '');
    this.#agent = null;
    return exit;
  }

  /** The files of instances' disks and their mounts. */
  get disks(): string[] {
    const dir = join(this.dataDir, 'disks');
    return [...(existsSync(dir) ? readdirSync(dir) : []), ...mountsBelow(this.dataDir)];
  }

  /** Erases all instances through the agent, so that no mount remains. */
  async close(): Promise<void> {
    const ids = [...new Set([...(await this.engine.containers()).keys(), ...this.disks.map(idOf)])].filter(Boolean);
    if (ids.length > 0) {
      if (this.#agent === null) this.start();
      this.gateway.mood = 'good';
      this.gateway.setDesired(ids.map((id) => desiredInstance(id, 'absent')));
      for (const id of ids) await this.gateway.phase(id, 'ERASED', 60_000);
    }
    await this.end();
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

function idOf(name: string): string {
  return /i-[a-f0-9]{8}/.exec(name)?.[0] ?? '';
}

export function desiredInstance(
  id: string,
  phase: DesiredInstance['phase'],
  rest: Partial<DesiredInstance> = {},
): DesiredInstance {
  return {
    id,
    phase,
    start: 1,
    image: 'none',
    command: null,
    env: {},
    gpus: 0,
    vcpus: 1,
    memoryMb: 256,
    diskGb: 1,
    ports: [8888],
    ...rest,
  };
}
