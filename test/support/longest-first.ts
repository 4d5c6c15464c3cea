import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Seconds that each test file took last time. `WRITE_DURATIONS=1 npm run test:all` updates them. */
export const DURATIONS = new URL('./durations.json', import.meta.url);
/** Seconds assumed for a file that isn't in the list. */
const UNKNOWN_SECONDS = 10;

/** Starts the longest files first, so that no worker finishes long after the others. */
export class LongestFirst extends BaseSequencer {
  readonly #seconds: Record<string, number> = JSON.parse(readFileSync(DURATIONS, 'utf8'));

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const secondsOf = ({ moduleId }: TestSpecification) => this.#seconds[relative(root, moduleId)] ?? UNKNOWN_SECONDS;
    return [...files].sort((one, other) => secondsOf(other) - secondsOf(one));
  }
}
