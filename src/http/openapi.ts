import type { InventoryDeps } from '../domain/inventory/deps.js';
import { findOffers } from '../domain/inventory/offers.js';
import { STATUS_OF } from '../domain/kernel/errors.js';
import { openApi } from '../rest/openapi.js';
import type { PreparedRoute } from '../rest/prepare.js';

/**
 * Returns a function that builds the REST API's OpenAPI document as JSON. Its examples name the cheapest free machine
 * so that they can be sent unchanged. They name no machine if none is free or the database is unreachable.
 */
export function createOpenApi(
  deps: Pick<InventoryDeps, 'settings' | 'inventory'>,
  routes: readonly PreparedRoute[],
): () => Promise<string> {
  const { publicUrl } = deps.settings;
  const facts = { serverUrl: `${publicUrl}/v1`, contactUrl: publicUrl, refusals: STATUS_OF };
  /** The cached document, which is rebuilt when another machine becomes the cheapest. */
  let made: { machineId: string | undefined; text: string } | null = null;
  return async () => {
    const [offered = null] = await findOffers(deps, { limit: 1 }).catch(() => []);
    const machineId = offered?.machineId;
    if (made === null || made.machineId !== machineId) {
      made = { machineId, text: JSON.stringify(openApi(routes, { ...facts, offered })) };
    }
    return made.text;
  };
}
