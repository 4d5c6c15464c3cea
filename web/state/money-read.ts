import type { ResultOf } from 'gql.tada';
import type { Money } from '../graph/documents.js';

/** The answer to the Billing query, all of one second; null for a refused part. */
export type MoneyRead = ResultOf<typeof Money>;
