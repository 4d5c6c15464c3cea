import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError, type GraphQLSchema } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { type ErrorCode, STATUS_OF } from '../../domain/rules/errors.js';
import { rootFields } from './cost.js';
import { type HttpExtension, STREAM_TYPE } from './graphql-request.js';

const NOT_ACCEPTABLE = 406;

interface ServerContext {
  req: IncomingMessage;
  res: ServerResponse;
}

/** A subscription is answered as server-sent events and in no other way. */
export function useSubscriptions(schema: GraphQLSchema): Plugin<ServerContext, ServerContext> {
  return {
    onSubscribe({ args, setResultAndStopExecution }) {
      const { req } = args.contextValue;
      const refuse = (status: number, message: string) => {
        setResultAndStopExecution({ errors: [refusal(status, message)] });
      };
      if (req.headers.accept !== STREAM_TYPE) {
        refuse(NOT_ACCEPTABLE, `a subscription is answered as ${STREAM_TYPE}: say so in the header Accept`);
      }
      // Validation lets it pass, and the executor falls over it.
      else if (rootFields(schema, args.document, args.operationName, args.variableValues ?? {}, () => true) === 0) {
        refuse(STATUS_OF.invalid_request, 'a subscription may not leave out its field');
      }
    },
    onResponse({ response, serverContext }) {
      if (response.headers.get('content-type') !== STREAM_TYPE) return;
      // Yoga's word for no coding is not one that HTTP knows.
      response.headers.delete('content-encoding');
      // Of proxies that gather an answer before they send it on.
      serverContext?.res.setHeader('X-Accel-Buffering', 'no');
    },
  };
}

function refusal(status: number, message: string): GraphQLError {
  const code: ErrorCode = 'invalid_request';
  const http: HttpExtension = { status, headers: {} };
  return new GraphQLError(message, { extensions: { code, status, http } });
}
