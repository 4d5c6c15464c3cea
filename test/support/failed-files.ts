import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Writes the names of the test files that failed, one a line, so that they can be run again alone. */
export class FailedFiles implements Reporter {
  #vitest!: Vitest;

  constructor(private readonly path: string) {}

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  /**
   * A file whose process died counts as failed: it never ended. Any other error outside of a file makes the list empty: no second
   * run excuses it.
   */
  onTestRunEnd(modules: readonly TestModule[], errors: readonly { cause?: unknown }[]): void {
    const isExcused = errors.every(({ cause }) => String(cause).endsWith('Worker exited unexpectedly'));
    const failed = modules.filter((module) => !['passed', 'skipped'].includes(module.state()));
    const names = failed.map(({ moduleId }) => `${relative(this.#vitest.config.root, moduleId)}\n`);
    writeFileSync(this.path, isExcused ? names.join('') : '');
  }
}
