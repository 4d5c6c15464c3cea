import type { ResultOf } from 'gql.tada';
import type { OneInstance } from '../graph/documents.js';

/** The data that an instance's screen reads in addition to the state that the page follows. */
export type Read = NonNullable<ResultOf<typeof OneInstance>['instance']>;
