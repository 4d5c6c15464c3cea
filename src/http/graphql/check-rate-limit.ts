import type { ExecutionResult } from 'graphql';
import type { Logger } from 'pino';
import { createFaultLog } from '../errors.js';
import { admit } from '../rate-limit/admit.js';
import type { RateLimiter } from '../rate-limit/rate-limit.js';
import { operationOf } from '../request-state.js';
import { httpOf, toGraphqlError } from './graphql-errors.js';
import type { PluginContext } from './plugin.js';
import type { Check } from './use-checks.js';

/** Admits or rejects a whole request before any of it runs. Requires the data that `recordOperation` records. */
export function checkRateLimit(limiter: RateLimiter, log: Logger): Check {
  const logFault = createFaultLog(log, ' in a resolver');
  const admitCaller = async ({ caller, req, res }: PluginContext): Promise<ExecutionResult | null> => {
    try {
      await admit(limiter, caller!, operationOf(req).cost, res);
      return null;
    } catch (error) {
      const refusal = toGraphqlError(error, logFault);
      const isLimited = refusal.extensions.code === 'rate_limited';
      return { errors: [refusal], ...(isLimited && { extensions: { http: httpOf(refusal) } }) };
    }
  };
  return ({ contextValue }) => {
    const context = contextValue as PluginContext;
    return context.caller === null ? null : admitCaller(context);
  };
}
