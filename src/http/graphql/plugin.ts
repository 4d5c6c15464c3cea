import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionArgs, ExecutionResult } from 'graphql';
import type { Plugin as YogaPlugin } from 'graphql-yoga';
import type { GatewayContext } from '../../schema/context.js';

/** The context that Yoga receives with a request. */
export interface ServerContext {
  req: IncomingMessage;
  res: ServerResponse;
  /** The negotiated type of the answer. */
  type: string;
}

/** The `contextValue` of plugins. */
export type PluginContext = GatewayContext & ServerContext;

export type Plugin = YogaPlugin<PluginContext, ServerContext>;

/** An operation that is about to run; a subscription starts once, when it is opened. */
export interface StartingOperation {
  args: ExecutionArgs;
  setResultAndStopExecution(result: ExecutionResult): void;
}
