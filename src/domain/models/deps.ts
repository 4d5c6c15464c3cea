import type { ModelHub } from './hub.js';

export interface ModelDeps {
  /** Counts a computation for an account or address. Throws rate_limited after too many. */
  takeModelMemory(client: string): void;
  /** Null if the operator hasn't allowed the gateway to read models. */
  readonly modelHub: ModelHub | null;
}
