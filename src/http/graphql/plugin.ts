import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionArgs, ExecutionResult } from 'graphql';
import type { Plugin as YogaPlugin } from 'graphql-yoga';
import type { GatewayContext } from '../../schema/context.js';

/** The context that Yoga receives with each request. */
export interface ServerContext {
  req: IncomingMessage;
  res: ServerResponse;
  /** The response's negotiated content type. */
  type: string;
}

/** The `contextValue` that plugins receive. */
export type PluginContext = GatewayContext & ServerContext;

export type Plugin = YogaPlugin<PluginContext, ServerContext>;

/** An operation that is about to run. A subscription starts once, when it is opened. */
export interface StartingOperation {
  args: ExecutionArgs;
  setResultAndStopExecution(result: ExecutionResult): void;
}
