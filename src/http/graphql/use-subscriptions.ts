import { OperationTypeNode } from 'graphql';
import { refusal } from './graphql-errors.js';
import type { OperationMeasures } from './operation-measure.js';
import type { Plugin } from './plugin.js';
import { STREAM_ANSWER } from './read-request.js';
import type { Check } from './use-checks.js';

const NOT_ACCEPTABLE = 406;

/** Allows subscriptions only as server-sent events. */
export function useSubscriptions(): Plugin {
  return {
    onSubscribe({ args, setResultAndStopExecution }) {
      if (args.contextValue.type === STREAM_ANSWER) return;
      const message = `a subscription requires the header Accept: ${STREAM_ANSWER}`;
      setResultAndStopExecution({ errors: [refusal(message, { status: NOT_ACCEPTABLE })] });
    },
  };
}

/**
 * Rejects a subscription whose field is left out by @skip or @include. Validation accepts the document, but the executor
 * finds no field to subscribe to.
 */
export function checkSelection(measures: OperationMeasures): Check {
  return (args) => {
    const measure = measures.of(args);
    if (measure?.operation.operation !== OperationTypeNode.SUBSCRIPTION) return null;
    if (measure.rootFields(args.coerced ?? {}) > 0) return null;
    return { errors: [refusal('a subscription must select its field')] };
  };
}
