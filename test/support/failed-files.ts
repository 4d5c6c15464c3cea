import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';
import type { Budgets } from './budgets.js';

/**
 * Writes the names of the test files that failed or exceeded their budget, one per line, so they can be run again
 * separately.
 */
export class FailedFiles implements Reporter {
  #vitest!: Vitest;

  /** Creates the reporter. `budgets` must be an earlier reporter of the run. */
  constructor(
    private readonly path: string,
    private readonly budgets: Budgets,
  ) {}

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  /**
   * A file whose process crashed counts as failed, because it never finished. Any other error outside of a file empties
   * the list, because running files again wouldn't reproduce it.
   */
  onTestRunEnd(modules: readonly TestModule[], errors: readonly { cause?: unknown }[]): void {
    const isExcused = errors.every(({ cause }) => String(cause).endsWith('Worker exited unexpectedly'));
    const failed = modules.filter((module) => !['passed', 'skipped'].includes(module.state()));
    const names = failed.map(({ moduleId }) => relative(this.#vitest.config.root, moduleId));
    const all = new Set([...names, ...this.budgets.exceeded]);
    writeFileSync(this.path, isExcused ? [...all].map((name) => `${name}\n`).join('') : '');
  }
}
