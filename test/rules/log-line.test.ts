import { expect, it } from 'vitest';
import { MAX_LOG_LINE, readLogLine } from '../../src/domain/updates/rules/log-line.js';

it('log times are formatted as text that sorts chronologically', () => {
  const timeOf = (line: string) => readLogLine(line)?.time;
  expect(readLogLine('o2026-11-22T07:00:00.5Z words here')).toEqual({
    time: '2026-11-22T07:00:00.500000000Z',
    stream: 'STDOUT',
    text: 'words here',
    isPartial: false,
  });
  expect(readLogLine('e2026-11-22T07:00:00+05:30 \u001b[31mred\r')).toEqual({
    time: '2026-11-22T01:30:00.000000000Z',
    stream: 'STDERR',
    text: '\u001b[31mred',
    isPartial: false,
  });
  expect(readLogLine('E2026-11-22T07:00:00Z name: ')).toMatchObject({
    stream: 'STDERR',
    text: 'name: ',
    isPartial: true,
  });
  expect(timeOf('o2026-11-22T07:00:00.123456789Z')! > timeOf('o2026-11-22T07:00:00.12Z')!).toBe(true);
  expect(readLogLine(`o2026-11-22T07:00:00Z ${'x'.repeat(100_000)}`)!.text).toHaveLength(MAX_LOG_LINE);
  expect(readLogLine('o2026-11-22T07:00:00Z a\rb\r')!.text).toBe('a\rb');
  const noTimes = [
    'o2026-13-45T99:00:00Z a',
    'e2026-02-22T25:00:00+01:00 a',
    'o2026-11-22T07:00:00+99:99 a',
    'o2027-02-31T07:00:00Z a',
  ];
  for (const other of [
    ...noTimes,
    'xo2026-11-22T07:00:00Z a',
    '',
    'o',
    'x2026-11-22T07:00:00Z a',
    'words',
    'o2026-11-22 07:00:00 a',
  ])
    expect(readLogLine(other)).toBeNull();
});
