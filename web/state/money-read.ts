import type { ResultOf } from 'gql.tada';
import type { Money } from '../graph/documents.js';

/** The response to the Billing query. Everything in it refers to the same second. Refused parts are null. */
export type MoneyRead = ResultOf<typeof Money>;
