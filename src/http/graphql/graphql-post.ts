import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import { type GraphQLParams, processRegularResult, type YogaServerInstance } from 'graphql-yoga';
import { sendJson } from '../send-json.js';
import { answerTypeOf, STREAM_TYPE } from './graphql-request.js';

type Context = { req: IncomingMessage; res: ServerResponse };

/**
 * Answers a whole, ordinary POST: the same plugins as any request, without the fetch Request and Response that Yoga makes
 * of others, which cost as much as running the query. Says false, having done nothing, when the request is not ordinary.
 */
export type PostGraphql = (request: IncomingMessage, response: ServerResponse, body: Buffer) => boolean;

export function createPostGraphql<Server extends Context, User extends object>(
  yoga: YogaServerInstance<Server, User>,
  tell: (error: unknown) => Error,
): PostGraphql {
  return (request, response, body) => {
    const type = answerTypeOf(request.headers.accept);
    const params = type === undefined || type === STREAM_TYPE ? null : readParams(body);
    if (params === null) return false;
    request.headers.accept = type;
    void answer(request, response, params, type!);
    return true;
  };

  async function answer(req: IncomingMessage, res: ServerResponse, params: GraphQLParams, type: string): Promise<void> {
    const result = await run({ req, res }, params);
    if (result.errors === undefined && result.extensions === undefined) {
      sendJson(res, 200, `${type}; charset=utf-8`, stringify(result));
      return;
    }
    const answered = processRegularResult(result, yoga.fetchAPI, type);
    for (const [name, value] of answered.headers) res.setHeader(name, value);
    sendJson(res, answered.status, answered.headers.get('content-type') ?? type, await answered.text());
  }

  async function run(context: Context, params: GraphQLParams): Promise<ExecutionResult> {
    try {
      // Of the request Yoga's plugins read the method alone: a mutation comes by POST.
      const request = { method: 'POST' } as Request;
      return (await yoga.getResultForParams({ params, request }, context as never)) as ExecutionResult;
    } catch (error) {
      return { errors: [tell(error) as never] };
    }
  }
}

function readParams(body: Buffer): GraphQLParams | null {
  if (!isUtf8(body)) return null;
  try {
    const params = JSON.parse(body.toString());
    return typeof params?.query === 'string' ? params : null;
  } catch {
    return null;
  }
}

/** Public answers are made into text when they are kept. */
function stringify(result: ExecutionResult & { stringify?: () => string }): string {
  return result.stringify?.() ?? JSON.stringify(result);
}
