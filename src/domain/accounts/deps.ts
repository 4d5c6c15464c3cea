import type { SettlingDeps } from '../billing/deps.js';
import type { ApiKeyCache } from './api-key-cache.js';

export interface AccountsDeps extends SettlingDeps {
  readonly apiKeyCache: ApiKeyCache;
}
