import { type GraphQLSchema, getOperationAST, getVariableValues } from 'graphql';
import type { ErrorCode } from '../../domain/rules/errors.js';
import { type HttpExtension, MAX_REQUEST_ERRORS } from './graphql-errors.js';
import type { Plugin, StartingOperation } from './plugin.js';

const EXTENSIONS: { code: ErrorCode; http: HttpExtension } = {
  code: 'invalid_request',
  http: { status: 400, headers: {} },
};

/**
 * Refuses variables that do not fit. GraphQL would go on to the fiftieth fault, and write out the whole variable for
 * each: 7,000 unknown names took seconds.
 */
export function useVariables(schema: GraphQLSchema): Plugin {
  const check = ({ args, setResultAndStopExecution }: StartingOperation) => {
    const definitions = getOperationAST(args.document, args.operationName)?.variableDefinitions ?? [];
    if (definitions.length === 0) return;
    // One last error says that there are more.
    const options = { maxErrors: MAX_REQUEST_ERRORS - 1 };
    const { errors } = getVariableValues(schema, definitions, args.variableValues ?? {}, options);
    if (errors === undefined) return;
    for (const { extensions } of errors) Object.assign(extensions, EXTENSIONS);
    setResultAndStopExecution({ errors });
  };
  return { onExecute: check, onSubscribe: check };
}
