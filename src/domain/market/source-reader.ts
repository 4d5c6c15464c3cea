import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { PACKAGE_ROOT } from '../../std/package-root.js';
import { DomainError } from '../kernel/errors.js';
import type { NamedModel } from '../kernel/gpu-names.js';
import type { MarketReading } from './listings.js';
import { SourceFault, type SourceLimits } from './market-source.js';

/** Input to the worker thread. */
export interface SourceToRead {
  source: string;
  models: readonly NamedModel[];
  limits: SourceLimits;
}

/** The worker thread's result, which it sends once. Errors lose their class when passed between threads. */
export type SourceRead = { reading: MarketReading } | { fault: 'source' | 'listings' | 'bug'; message: string };

const PROGRAM = join(PACKAGE_ROOT, 'dist', 'market-reader.mjs');
/**
 * The thread's heap limits in MiB. Reading a 64 MB source takes only 20 MiB, because ids and prices are stored outside
 * the heap. The small young generation keeps memory use low, because garbage from rows is always short-lived.
 */
const HEAP = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };

/**
 * Reads a source in a dedicated thread, so that its millions of rows neither leave garbage in the gateway's heap nor
 * block requests. Throws SourceFault, or DomainError for invalid listings. Aborting `signal` ends the thread.
 */
export async function readSourceInWorker(what: SourceToRead, signal: AbortSignal): Promise<MarketReading> {
  signal.throwIfAborted();
  const worker = new Worker(PROGRAM, { workerData: what, resourceLimits: HEAP, execArgv: [] });
  const end = () => void worker.terminate();
  signal.addEventListener('abort', end);
  try {
    const read = await new Promise<SourceRead>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new SourceFault('reading the source was aborted')));
    });
    if ('reading' in read) return read.reading;
    if (read.fault === 'bug') throw new Error(read.message);
    throw read.fault === 'source' ? new SourceFault(read.message) : new DomainError('invalid_request', read.message);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    throw new SourceFault("the source can't be read: its rows use too much memory");
  } finally {
    signal.removeEventListener('abort', end);
    await worker.terminate();
  }
}
