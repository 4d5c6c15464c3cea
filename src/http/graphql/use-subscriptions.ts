import type { GraphQLSchema } from 'graphql';
import { rootFields } from './cost.js';
import { refusal } from './graphql-errors.js';
import type { Plugin } from './plugin.js';
import { STREAM_ANSWER } from './read-request.js';

const NOT_ACCEPTABLE = 406;

/** Allows subscriptions only as server-sent events. */
export function useSubscriptions(schema: GraphQLSchema): Plugin {
  return {
    onSubscribe({ args, setResultAndStopExecution }) {
      const { type } = args.contextValue;
      if (type !== STREAM_ANSWER) {
        const message = `a subscription requires the header Accept: ${STREAM_ANSWER}`;
        setResultAndStopExecution({ errors: [refusal(message, { status: NOT_ACCEPTABLE })] });
      }
      // Validation accepts this document, but the executor finds no field to subscribe to.
      else if (rootFields(schema, args, () => true) === 0) {
        setResultAndStopExecution({ errors: [refusal('a subscription must select its field')] });
      }
    },
  };
}
