import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { PACKAGE_ROOT } from '../../package-root.js';
import { DomainError } from '../rules/errors.js';
import type { NamedModel } from '../rules/gpu-names.js';
import type { MarketReading } from './listings.js';
import { SourceFault, type SourceLimits } from './market-source.js';

/** What the thread is given. */
export interface SourceToRead {
  source: string;
  models: readonly NamedModel[];
  limits: SourceLimits;
}

/** What the thread says, once. Errors lose their class on the way. */
export type SourceRead = { reading: MarketReading } | { fault: 'source' | 'listings' | 'bug'; message: string };

const PROGRAM = join(PACKAGE_ROOT, 'dist', 'market-reader.mjs');
/**
 * Mebibytes of the thread's heap. A source of 64 MB takes 20 of it; what it keeps of ids and prices lies beside it.
 * A small young generation is what keeps the process small: garbage of rows is never old.
 */
const HEAP = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };

/**
 * Reads a source in a thread of its own: its millions of rows leave no garbage in the gateway's heap, and requests don't
 * wait for them. Throws SourceFault and, for what the listings are, DomainError. `signal` ends the thread.
 */
export async function readSourceApart(what: SourceToRead, signal: AbortSignal): Promise<MarketReading> {
  signal.throwIfAborted();
  const worker = new Worker(PROGRAM, { workerData: what, resourceLimits: HEAP, execArgv: [] });
  const end = () => void worker.terminate();
  signal.addEventListener('abort', end);
  try {
    const said = await new Promise<SourceRead>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new SourceFault('the reading of the source was broken off')));
    });
    if ('reading' in said) return said.reading;
    if (said.fault === 'bug') throw new Error(said.message);
    throw said.fault === 'source' ? new SourceFault(said.message) : new DomainError('invalid_request', said.message);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    throw new SourceFault("the source can't be read: its rows take too much memory");
  } finally {
    signal.removeEventListener('abort', end);
    await worker.terminate();
  }
}
