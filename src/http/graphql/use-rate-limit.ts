import type { Logger } from 'pino';
import { createFaultLog } from '../errors.js';
import { admit } from '../rate-limit/admit.js';
import type { RateLimiter } from '../rate-limit/rate-limit.js';
import { httpOf, toGraphqlError } from './graphql-errors.js';
import type { Plugin, PluginContext, StartingOperation } from './plugin.js';

/** Admits a request whole or refuses it whole, before anything of it runs. */
export function useRateLimit(limiter: RateLimiter, log: Logger): Plugin {
  const logFault = createFaultLog(log, ' in a resolver');
  const admitOperation = async ({ args, setResultAndStopExecution }: StartingOperation) => {
    const { caller, req, res } = args.contextValue as PluginContext;
    if (caller === null) return;
    try {
      await admit(limiter, caller, req.state.operation!.cost, res);
    } catch (error) {
      const refusal = toGraphqlError(error, logFault);
      const isLimited = refusal.extensions.code === 'rate_limited';
      setResultAndStopExecution({ errors: [refusal], ...(isLimited && { extensions: { http: httpOf(refusal) } }) });
    }
  };
  return { onExecute: admitOperation, onSubscribe: admitOperation };
}
