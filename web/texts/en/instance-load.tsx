export const texts = {
  title: 'Load',
  ranges: { '1h': '1 hour', '2d': '2 days', '90d': '90 days' },
  overWhat: 'Over what time',
  moment: 'One moment …',
  nothing: (range: string) => `Nothing was measured within ${range}. The first figures come 20 seconds after a start.`,
  asTable: 'As a table',
  table: 'Load as a table',
  newest: 'Load, newest first',
  time: 'Time',
};
