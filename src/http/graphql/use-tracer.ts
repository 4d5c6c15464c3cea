import type { Tracer } from '../tracer.js';
import type { Plugin, PluginContext } from './plugin.js';

/** A span for what runs of an operation. The name is the one that may be logged. */
export function useTracer(tracer: Tracer): Plugin {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const { name, kind } = (args.contextValue as PluginContext).req.state.operation!;
      setExecuteFn((given) => tracer.operation(name, kind, () => executeFn(given)));
    },
    onSubscribe({ args, subscribeFn, setSubscribeFn }) {
      const { name, kind } = (args.contextValue as PluginContext).req.state.operation!;
      setSubscribeFn((given) => tracer.operation(name, kind, () => subscribeFn(given)));
    },
  };
}
