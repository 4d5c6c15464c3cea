import { type GraphQLSchema, getOperationAST, getVariableValues } from 'graphql';
import type { ErrorCode } from '../../domain/rules/errors.js';
import { type HttpExtension, MAX_REQUEST_ERRORS } from './graphql-errors.js';
import { nameBoundsOfVariables } from './input-bounds.js';
import type { Check } from './use-checks.js';

const EXTENSIONS: { code: ErrorCode; http: HttpExtension } = {
  code: 'invalid_request',
  http: { status: 400, headers: {} },
};

/**
 * Refuses variables that don't fit. GraphQL would continue to the fiftieth error, and print the whole variable for
 * each: 7,000 unknown names took seconds.
 */
export function checkVariables(schema: GraphQLSchema): Check {
  return (args) => {
    const { document, operationName, variableValues } = args;
    const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
    if (definitions.length === 0) return null;
    // One last error says that there are more.
    const options = { maxErrors: MAX_REQUEST_ERRORS - 1 };
    const { errors, coerced } = getVariableValues(schema, definitions, variableValues ?? {}, options);
    args.coerced = coerced;
    if (errors === undefined) return null;
    nameBoundsOfVariables(schema, args, errors);
    for (const { extensions } of errors) Object.assign(extensions, EXTENSIONS);
    return { errors };
  };
}
