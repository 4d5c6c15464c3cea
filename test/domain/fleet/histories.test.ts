import { describe, test } from 'vitest';
import { play, type Step } from '../../support/fleet/agreeing-world.js';

const DAY = 86_400;
const rent = { do: 'deploy', account: 0, machine: 0, mode: 'ON_DEMAND' } as const;
const reserve = { ...rent, mode: 'RESERVED' } as const;
const beat = { do: 'beat', machine: 0, says: 'RUNNING' } as const;
const [start, stop, destroy] = (['START', 'STOP', 'DESTROY'] as const).map((action) => ({
  do: action,
  account: 0,
  pick: 0,
})) as [Step, Step, Step];
const leap = (seconds: number) => ({ do: 'leap', seconds }) as const;

describe('offers, credits and the naive model agree to the unit', () => {
  test('when credit runs out', () => play([rent, leap(5), beat, leap(10 * DAY), beat, leap(10), beat]));
  test('when credit runs out and the grace period ends', () => play([rent, beat, leap(40 * DAY), leap(1), beat]));
  test('when a month ends', () => play([rent, leap(3), beat, leap(40), beat, leap(5), beat]));
  test('when a reserved term ends', () =>
    play(
      [reserve, beat, leap(91 * DAY), beat, leap(2 * DAY), beat, { do: 'DESTROY', account: 0, pick: 0 }, beat],
      9_000n,
    ));
  test('when instances are stopped, destroyed and preempted', () =>
    play([
      ...[
        { ...rent, mode: 'INTERRUPTIBLE' } as const,
        leap(2),
        beat,
        leap(20),
        { ...rent, account: 1 } as const,
        leap(300),
      ],
      ...[
        { do: 'STOP', account: 1, pick: 0 } as const,
        leap(50),
        { do: 'DESTROY', account: 0, pick: 0 } as const,
        leap(9),
        beat,
        beat,
      ],
    ]));
  test('when a machine is rented twice within a second', () =>
    play([leap(0.001), beat, rent, { do: 'DESTROY', account: 0, pick: 0 }, rent, beat]));
  test('when an instance fails after running', () =>
    play([rent, leap(2), beat, leap(9), { ...beat, says: 'FAILED' }, leap(9), beat]));
  test('when a start fails because of the host', () =>
    play([rent, leap(200), beat, leap(9), { ...beat, says: 'HOST_FAILED' }, leap(9), beat]));
  test('when repeated starts run for less time than they waited, or never run at all', () =>
    play([
      ...[rent, leap(25), { ...beat, says: 'PULLING' } as const, leap(25), beat, leap(10), stop, leap(1), beat],
      ...[start, leap(25), { ...beat, says: 'PULLING' } as const, leap(25), stop, leap(1)],
      ...[start, leap(29), stop, start, leap(29), stop, start, leap(20_000), stop, leap(2), beat],
    ]));
  test('when a host returns in the same second in which a rental ended during its outage', () =>
    play([leap(600.001), beat, rent, leap(618), destroy, beat, leap(600), beat]));
  test('when a start waits until its own previous container has ended or been erased', () =>
    play([
      ...[rent, leap(2), beat, leap(20), stop, leap(0.5), start, leap(9), beat, leap(1), beat, leap(5), beat, leap(20)],
      ...[destroy, leap(1), rent, leap(9), beat, leap(9), beat, leap(9), beat, leap(20), beat],
    ]));
});
