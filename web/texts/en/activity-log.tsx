import type { ComponentChildren } from 'preact';
import { number } from '../../figures/number.js';

/** Changes of several subjects, after their number. */
const many: Record<string, string> = {
  deploy: 'instances deployed',
  deployBest: 'instances deployed',
  start: 'instances started',
  stop: 'instances stopped',
  destroy: 'instances destroyed',
  moveInstance: 'instances moved',
  saveTemplate: 'templates saved',
  deleteTemplate: 'templates deleted',
  createVolume: 'volumes created',
  growVolume: 'volumes grown',
  deleteVolume: 'volumes deleted',
  releaseVolume: 'volumes released',
  addSshKey: 'SSH keys added',
  removeSshKey: 'SSH keys removed',
  createSecret: 'secrets created',
  deleteSecret: 'secrets deleted',
  createTopUp: 'top-ups created',
  createWebhook: 'webhooks created',
  deleteWebhook: 'webhooks deleted',
  createApiKey: 'API keys created',
  revokeApiKey: 'API keys revoked',
  createPasskey: 'passkeys created',
  revokePasskey: 'passkeys revoked',
};

export const texts = {
  what: 'Every change requested in this account in the last 90 days, including refused ones.',
  filters: 'Activity',
  operation: 'Action',
  key: 'Key',
  outcome: 'Result',
  done: 'succeeded',
  refused: 'refused',
  about: 'Subject by ID or name',
  aboutExample: 'ID or name',
  period: 'Period',
  periods: { day: 'Last 24 hours', week: 'Last 7 days', days30: 'Last 30 days', custom: 'Custom …' },
  from: 'From',
  to: 'To',
  utcDay: 'UTC day',
  any: { operation: 'Any action', key: 'Any key', outcome: 'Any result', period: 'Any time' },
  more: 'Filters',
  clear: 'Clear filters',
  none: 'No activity yet',
  noneHint: 'Changes that you or your programs make will appear here, with their key and IP address.',
  noneOfThese: 'No matching activity',
  noneOfTheseHint: 'Remove a filter or choose another period.',
  columns: { what: 'Action', about: 'Subject', who: 'By', when: 'Time' },
  port: (port: string) => `port ${port}`,
  ownKey: 'The key of this session',
  inConsole: 'Console',
  byProgram: 'API',
  /** The address from which all changes of a day were requested. */
  fromAddress: (address: ComponentChildren) => <>from {address}</>,
  /** Rows are named alike; only the filter distinguishes how the machine was chosen. */
  deployments: {
    deploy: 'Instance deployed (chosen machine)',
    deployBest: 'Instance deployed (cheapest match)',
  },
  /** Equal changes of different subjects, or null if there is no name for them. */
  several: (count: number, operation: string): string | null =>
    operation in many ? `${number(count)} ${many[operation]}` : null,
  times: (change: string, count: number) => `${change} · ${number(count)} times`,
  newer: 'Newer',
  older: 'Older',
};
