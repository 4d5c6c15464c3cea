import { relative } from 'node:path';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Reports at the end of a run which tests were left out on this machine and how to provide what they need. */
export class LeftOut implements Reporter {
  #vitest!: Vitest;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const reasons = new Map<string, { tests: number; providedBy: string; files: Set<string> }>();
    let tests = 0;
    for (const module of modules) {
      for (const test of module.children.allTests('skipped')) {
        const { leftOut = [] } = test.meta();
        if (leftOut.length > 0) tests += 1;
        for (const { wants, providedBy } of leftOut) {
          const reason = reasons.get(wants) ?? { tests: 0, providedBy, files: new Set() };
          reason.tests += 1;
          reason.files.add(this.#nameOf(module));
          reasons.set(wants, reason);
        }
      }
    }
    if (tests === 0) return;
    const width = Math.max(...[...reasons.keys()].map(({ length }) => length));
    const lines = [...reasons].map(
      ([wants, { tests, providedBy, files }]) =>
        `   ${wants.padEnd(width)}  ${String(tests).padStart(4)} tests  ${providedBy}\n${[...files].map((file) => `     ${file}\n`).join('')}`,
    );
    this.#vitest.logger.log(
      ` Left out here: ${tests} tests. They need these tools, from a Debian package or as stated:\n${lines.join('')}`,
    );
  }

  #nameOf({ moduleId }: TestModule): string {
    return relative(this.#vitest.config.root, moduleId);
  }
}
