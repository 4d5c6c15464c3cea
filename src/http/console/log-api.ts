import { Readable } from 'node:stream';
import express, { type RequestHandler, type Router } from 'express';
import { checkScope } from '../../domain/kernel/scopes.js';
import type { UpdateDeps } from '../../domain/updates/deps.js';
import { keptLog } from '../../domain/updates/instance-logs.js';
import type { LogLine } from '../../domain/updates/rules/log-line.js';
import { named, refuseOtherMethods } from '../routing.js';
import { sendAttachment } from './attachment.js';
import { createPageSession, type PageSessionOptions } from './page-session.js';

const PATH = '/console/logs/:id';

interface LogApiOptions extends PageSessionOptions {
  deps: PageSessionOptions['deps'] & Pick<UpdateDeps, 'openLogs' | 'subscriptions'>;
}

/** Serves an instance's complete log as a file. With `?times=true`, each line starts with its time and stream. */
export function createLogApi({ deps, keyUses, isTrusted }: LogApiOptions): Router {
  const sessionOf = createPageSession({ deps, keyUses, isTrusted });
  const send: RequestHandler = async (request, response) => {
    // The client may also disconnect during the session lookup.
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const caller = await sessionOf(request);
    checkScope(caller.scopes, 'Query.instanceLogs');
    const id = String(request.params.id);
    const batches = keptLog(deps, caller, id, gone.signal);
    // The first line is read before the head is sent, because errors can only be reported up to then.
    const first = await batches.next();
    const write = request.query.times === 'true' ? timed : plain;
    const bytes = Readable.from(textOf(first, batches, write), { objectMode: false });
    // Closing a generator that was never started doesn't run its cleanup code.
    bytes.once('close', () => void batches.return().catch(() => {}));
    await sendAttachment(request, response, {
      name: Buffer.from(`${id}.log`),
      size: null,
      type: 'text/plain; charset=utf-8',
      bytes,
    });
  };
  const router = express.Router({ strict: true, caseSensitive: true });
  router.all(PATH, named(PATH.replace(':id', '{id}')), (_request, response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    next();
  });
  // A HEAD request has no body whose end would close the log.
  router.head(PATH, refuseOtherMethods('GET, OPTIONS'));
  router.get(PATH, send);
  router.all(PATH, refuseOtherMethods('GET, OPTIONS'));
  return router;
}

type Batches = AsyncGenerator<LogLine[], void>;

async function* textOf(
  first: IteratorResult<LogLine[], void>,
  batches: Batches,
  write: (line: LogLine) => string,
): AsyncGenerator<string> {
  try {
    for (let next = first; next.done !== true; next = await batches.next()) yield next.value.map(write).join('');
  } finally {
    await batches.return();
  }
}

const plain = ({ text }: LogLine): string => `${text}\n`;
const timed = ({ time, stream, text }: LogLine): string => `${time} ${stream === 'STDERR' ? 'err' : 'out'} ${text}\n`;
