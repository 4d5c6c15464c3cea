import { Readable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';
import { installNameLookup } from '../../std/name-lookup.js';
import { required } from '../../std/required.js';
import { csvRecords } from '../kernel/csv.js';
import { DomainError } from '../kernel/errors.js';
import { LISTING_COLUMNS, listingRows, readListings } from './listings.js';
import { readSource, SourceFault } from './market-source.js';
import type { SourceRead, SourceToRead } from './source-reader.js';

/** Entry point of the thread that `readSourceInWorker` starts and ends. */
const { source, models, limits } = workerData as SourceToRead;

async function read(): Promise<SourceRead> {
  const bytes = Readable.from(readSource(source, new AbortController().signal, limits), { objectMode: false });
  try {
    const records = csvRecords('the source', bytes, LISTING_COLUMNS);
    return { reading: await readListings(models, listingRows(records)) };
  } catch (error) {
    if (error instanceof SourceFault) return { fault: 'source', message: error.message };
    if (error instanceof DomainError) return { fault: 'listings', message: error.message };
    return { fault: 'bug', message: (error as Error).stack ?? String(error) };
  }
}

// Must be installed separately in each thread.
installNameLookup();
required(parentPort, 'parent thread').postMessage(await read());
