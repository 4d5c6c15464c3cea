export const texts = {
  title: 'Load',
  ranges: { '1h': '1 hour', '2d': '2 days', '90d': '90 days' },
  shortRanges: { '1h': '1 h', '2d': '2 d', '90d': '90 d' },
  more: 'More charts and table',
  period: 'Period',
  moment: 'Loading …',
  nothing: (range: string) =>
    `Nothing was measured in this period (${range}). The first figures appear 20 seconds after a start.`,
  table: 'Load as a table',
  newest: 'Load, newest first',
  time: 'Time',
};
