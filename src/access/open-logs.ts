import { DomainError, type ErrorCode } from '../domain/kernel/errors.js';
import type { OpenLogs } from '../domain/updates/log-source.js';
import { type RefusalReason, TunnelRefused, type Tunnels } from './tunnels.js';

const CODE_OF: Partial<Record<RefusalReason, ErrorCode>> = {
  unknown: 'not_found',
  destroyed: 'action_failed',
  starting: 'action_failed',
  stopped: 'action_failed',
  no_agent: 'action_failed',
  busy: 'rate_limited',
};
const RETRY_AFTER_SECONDS = 5;

/** Reads logs through tunnels that host agents dial. Converts refused tunnels to domain errors. */
export function logsOf(tunnels: Tunnels): OpenLogs {
  return async ({ opener, instanceId, tail, since, follow }, signal) => {
    const { accountId, keyId: apiKeyId, session } = opener;
    const target = { kind: 'logs' as const, tail, since: since === null ? null : Number(since), follow };
    const wanted = { opener: { accountId, apiKeyId, session, sshKeyId: null }, instanceId, target };
    return tunnels.open(wanted, signal).catch((error: unknown) => {
      throw error instanceof TunnelRefused ? refusalOf(error) : error;
    });
  };
}

/** Converts a refused tunnel to a domain error. */
export function refusalOf({ reason, message }: TunnelRefused): DomainError {
  const code = CODE_OF[reason] ?? 'unavailable';
  const passes = code === 'unavailable' || code === 'rate_limited';
  return new DomainError(code, message, passes ? { retryAfterSeconds: RETRY_AFTER_SECONDS } : {});
}
