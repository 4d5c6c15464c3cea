import fc from 'fast-check';
import { test } from 'vitest';
import { play, step } from '../../support/fleet/agreeing-world.js';
import { randomHistories } from '../../support/long.js';

const RUNS = 12;
const STEPS = 40;

test('offers, credits and the naive model agree to the unit in random histories', { timeout: 600_000 }, () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: STEPS / 2, maxLength: STEPS }), (steps) => play(steps)),
    { ...randomHistories(RUNS), verbose: 1 },
  ),
);
