import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Seconds that each test file took last; `WRITE_DURATIONS=1 npm test` writes them anew. */
export const DURATIONS = new URL('./durations.json', import.meta.url);
/** Of a file that is not in the list. */
const UNKNOWN_SECONDS = 10;

/**
 * Starts the longest files first, so that no worker ends long after the others. Files of one project stand together: Vitest
 * hands a process without isolation on only to a next file of the same project.
 */
export class LongestFirst extends BaseSequencer {
  readonly #seconds: Record<string, number> = JSON.parse(readFileSync(DURATIONS, 'utf8'));

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { projects, config } = this.ctx;
    const secondsOf = ({ moduleId }: TestSpecification) =>
      this.#seconds[relative(config.root, moduleId)] ?? UNKNOWN_SECONDS;
    const placeOf = ({ project }: TestSpecification) => projects.indexOf(project);
    return [...files].sort((one, other) => placeOf(one) - placeOf(other) || secondsOf(other) - secondsOf(one));
  }
}
