import { expect, test } from 'vitest';
import { droppedSnapshots } from '../../src/domain/volumes/rules/volume-keeping.js';

const at = (time: string) => ({ id: time, atMs: Date.parse(`${time}Z`), lease: null as bigint | null });
const dropped = (times: string[], leaseSince: string | null = null) =>
  droppedSnapshots(times.map(at), leaseSince === null ? null : at(leaseSince).atMs).map(({ id }) => id);

test('the last snapshot of each hour is kept', () => {
  const times = ['2026-03-01T10:00:00', '2026-03-01T10:59:59.999', '2026-03-01T11:00:00', '2026-03-01T11:10:00'];
  expect(dropped(times)).toEqual(['2026-03-01T11:00:00', '2026-03-01T10:00:00']);
});

test('a snapshot is kept for each of the newest 24 hours and 7 days that have one', () => {
  const hour = (day: number, hour: number) =>
    `2026-03-${String(day).padStart(2, '0')}T${String(hour).padStart(2, '0')}:30:00`;
  const times = Array.from({ length: 10 }, (_, day) => [hour(day + 1, 3), hour(day + 1, 9), hour(day + 1, 15)]).flat();
  // Of 30 snapshots, the newest 24 hours reach back to day 3. Days 1 and 2 are older than the newest 7 days and are
  // dropped.
  expect(dropped(times)).toEqual([hour(2, 15), hour(2, 9), hour(2, 3), hour(1, 15), hour(1, 9), hour(1, 3)]);
  const many = Array.from({ length: 9 }, (_, day) =>
    Array.from({ length: 24 }, (_, each) => hour(day + 1, each)),
  ).flat();
  const kept = new Set(many);
  for (const id of dropped(many)) kept.delete(id);
  expect([...kept]).toEqual([
    ...[3, 4, 5, 6, 7, 8].map((day) => hour(day, 23)),
    ...Array.from({ length: 24 }, (_, each) => hour(9, each)),
  ]);
});

test('the last snapshot before the current lease is kept, regardless of later ones', () => {
  const times = ['2026-03-01T10:05:00', '2026-03-01T10:10:00', '2026-03-01T10:20:00', '2026-03-01T10:30:00'];
  expect(dropped(times, '2026-03-01T10:15:00')).toEqual(['2026-03-01T10:20:00', '2026-03-01T10:05:00']);
  expect(dropped(times)).toHaveLength(3);
});

test('the last snapshot of each of the newest 7 writers is kept, however many follow', () => {
  const own = at('2026-03-01T10:05:00');
  const times = ['10:10', '10:20', '10:30', '10:40', '10:50', '11:10', '11:20', '11:30', '11:40'];
  const held = times.map((time, index) => ({ ...at(`2026-03-01T${time}:00`), lease: index < 5 ? 1n : 2n }));
  const after = at('2026-03-01T11:50:00');
  expect(droppedSnapshots([own, ...held, after], null).map(({ id }) => id)).toEqual(
    ['11:30', '11:20', '11:10', '10:40', '10:30', '10:20', '10:10'].map((time) => `2026-03-01T${time}:00`),
  );
});
