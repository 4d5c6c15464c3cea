import type { ModelHub } from './hub.js';

export interface ModelDeps {
  /** Null if the operator hasn't allowed the gateway to read models. */
  readonly modelHub: ModelHub | null;
}
