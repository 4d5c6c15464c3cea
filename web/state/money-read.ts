import type { ResultOf } from 'gql.tada';
import type { Money } from '../graph/documents.js';

/** The answer to the query of Money, all of one second; a part that the service refused is null. */
export type MoneyRead = ResultOf<typeof Money>;
