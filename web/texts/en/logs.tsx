import { number } from '../../figures/number.js';

export const texts = {
  title: 'Log',
  search: 'Search in the log',
  searchShort: 'Search',
  before: 'Match before',
  next: 'Next match',
  found: (count: number) => `${number(count)} found`,
  at: (place: number, count: number) => `${number(place)} of ${number(count)}`,
  times: 'Times (UTC)',
  wrap: 'Wrap',
  download: 'Download',
  lines: 'Lines of the log',
  moment: 'One moment …',
  nothing: 'Nothing written yet.',
  toNewest: 'To the newest',
  foot: (lines: number) =>
    `The newest ${number(lines)} lines at most are shown; the download has all that the machine keeps.`,
};
