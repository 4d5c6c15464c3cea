import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import { DURATIONS } from './longest-first.js';

declare module 'vitest' {
  interface TaskMeta {
    /** CPU-seconds of a test file, not counting PostgreSQL and the loading of modules. */
    cpuSeconds?: number;
    /** CPU milliseconds of `timeReferenceWork` right after the file. */
    referenceMs?: number;
  }
}

/** Maximum CPU-seconds for a test file of each tier if the reference work takes REFERENCE_MS. */
const BUDGETS: Record<string, number> = { rules: 0.2, domain: 3, service: 5, programs: 15, hosts: 30, console: 30 };
/** CPU time of the reference work. If it takes longer on a slow or busy machine, the budgets grow in proportion. */
const REFERENCE_MS = 15;
/**
 * A file fails the run above this multiple of its budget plus these seconds. The same file took up to 1.4 times as long
 * when other programs shared the cores, and a worker must compile code that it runs for the first time. Files of other
 * tiers mostly pay for programs such as engines and browsers, whose cost differs by a factor of up to 2 between
 * machines of the same speed.
 */
const TOLERANCE: Record<string, number> = { rules: 1.5, domain: 1.5, service: 1.5 };
const TOLERANCE_OF_PROGRAMS = 2;
const WARM_UP_SECONDS = 0.3;
/** Above this load at the start, measurements mostly depend on other programs. */
const LOAD_LIMIT = 4;
const SHOWN = 10;

/**
 * Reports what test files cost and fails a run in which one exceeds its tier's budget. If the machine was busy when the
 * run started, it only reports. `WRITE_DURATIONS=1 npm run test:all` records the durations.
 */
export class Budgets implements Reporter {
  #vitest!: Vitest;
  readonly #loadAtStart = loadavg()[0]!;
  readonly #timesAtStart = processorTimes();
  /** Names of the files that failed the run. */
  exceeded: readonly string[] = [];

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const factor = slowness(modules);
    const isBusy = this.#loadAtStart > LOAD_LIMIT;
    // Longer random histories and more kills have no budget.
    const isLong = process.env.TEST_LONG !== undefined;
    const costs = modules.flatMap((module) => {
      const { cpuSeconds } = module.meta();
      if (cpuSeconds === undefined) return [];
      const name = relative(this.#vitest.config.root, module.moduleId);
      const tier = name.split('/')[1]!;
      const budget = (BUDGETS[tier] ?? Number.POSITIVE_INFINITY) * factor;
      const limit = budget * (TOLERANCE[tier] ?? TOLERANCE_OF_PROGRAMS) + WARM_UP_SECONDS;
      return [{ name, cpuSeconds, budget, limit }];
    });
    this.#print(costs, factor);
    const dear = costs.filter(({ cpuSeconds, budget }) => cpuSeconds > budget);
    for (const { name, cpuSeconds, budget } of dear) {
      this.#vitest.logger.error(` Over budget: ${name} took ${seconds(cpuSeconds)} CPU-seconds of ${seconds(budget)}`);
    }
    const exceeded = dear.filter(({ cpuSeconds, limit }) => cpuSeconds > limit);
    if (!isBusy && !isLong) this.exceeded = exceeded.map(({ name }) => name);
    if (this.exceeded.length > 0) process.exitCode = 1;
    if (!process.env.WRITE_DURATIONS) return;
    if (isBusy)
      this.#vitest.logger.error(
        ` Durations are not recorded: the load was ${this.#loadAtStart.toFixed(1)} at the start.`,
      );
    else this.#record(modules);
  }

  #print(costs: readonly { name: string; cpuSeconds: number }[], factor: number): void {
    const dearest = [...costs].sort((one, other) => other.cpuSeconds - one.cpuSeconds).slice(0, SHOWN);
    const total = costs.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
    const idle = idleShare(this.#timesAtStart, processorTimes());
    this.#vitest.logger.log(
      [
        `   CPU-seconds  ${total.toFixed(0)} of ${costs.length} test files, without loading modules and without PostgreSQL`,
        `       Machine  load ${this.#loadAtStart.toFixed(1)} at the start, ${loadavg()[0]!.toFixed(1)} at the end${idle}, budgets × ${factor.toFixed(2)}`,
        '       Dearest',
        ...dearest.map(({ name, cpuSeconds }) => `${seconds(cpuSeconds).padStart(14)}  ${name}`),
        '',
      ].join('\n'),
    );
  }

  #record(modules: readonly TestModule[]): void {
    const durations: Record<string, number> = JSON.parse(readFileSync(DURATIONS, 'utf8'));
    for (const module of modules) {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      const tenths = Math.round((collectDuration + setupDuration + duration) / 100);
      durations[relative(this.#vitest.config.root, module.moduleId)] = tenths / 10;
    }
    const sorted = Object.entries(durations).sort(([, one], [, other]) => other - one);
    writeFileSync(DURATIONS, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`);
  }
}

function seconds(value: number): string {
  return value.toFixed(1);
}

/** Returns how much slower the run's processes were than the reference: the median after each file, at least 1. */
function slowness(modules: readonly TestModule[]): number {
  const times = modules.flatMap((module) => module.meta().referenceMs ?? []).sort((one, other) => one - other);
  return Math.max(1, (times[Math.floor(times.length / 2)] ?? 0) / REFERENCE_MS);
}

interface Times {
  idle: number;
  all: number;
}

/** Returns null if the system doesn't report it. */
function processorTimes(): Times | null {
  if (process.platform !== 'linux') return null;
  const fields = readFileSync('/proc/stat', 'utf8').split('\n')[0]!.trim().split(/\s+/).slice(1, 9).map(Number);
  return { idle: fields[3]! + fields[4]!, all: fields.reduce((sum, each) => sum + each, 0) };
}

function idleShare(from: Times | null, to: Times | null): string {
  if (from === null || to === null || to.all === from.all) return '';
  return `, ${Math.round((100 * (to.idle - from.idle)) / (to.all - from.all))} % idle`;
}
