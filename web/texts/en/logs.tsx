import { number } from '../../figures/number.js';
import { plural } from '../plural.js';

export const texts = {
  title: 'Log',
  search: 'Search the log',
  searchShort: 'Search',
  before: 'Previous match',
  next: 'Next match',
  found: (count: number) => `${number(count)} found`,
  at: (place: number, count: number) => `${number(place)} of ${number(count)}`,
  times: 'Times (UTC)',
  wrap: 'Wrap',
  download: 'Download',
  options: 'Log options',
  showTimes: 'Show times (UTC)',
  hideTimes: 'Hide times',
  doWrap: 'Wrap lines',
  dontWrap: 'Don’t wrap lines',
  lines: 'Log lines',
  moment: 'Loading …',
  nothing: 'No output yet.',
  toNewest: 'Jump to newest',
  live: (lines: number) => plural(lines, { one: 'Live · 1 line', other: `Live · ${number(lines)} lines` }),
  levels: 'Filter lines',
  level: { all: 'All', warn: 'Warnings', bad: 'Errors' },
  noneOfLevel: 'No such lines.',
  previousError: 'Previous error',
  cut: (lines: number) =>
    `Shows at most the newest ${number(lines)} lines; the download contains everything that the machine keeps.`,
};
