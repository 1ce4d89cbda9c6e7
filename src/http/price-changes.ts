/** Changes of prices that the gateway saw, as the API has them. */

import type { Json } from '../core/json/json.ts';
import type { Store } from '../store/store.ts';

/** The newest first, with the prices of a token before and after; only of the models that are `allowed`. */
export async function readPriceChanges(
  store: Pick<Store, 'call'>,
  allowed: (model: string) => boolean = () => true,
): Promise<Json> {
  const { changes, since } = await store.call('readPriceChanges', {});
  return {
    data: changes
      .filter(({ model }) => allowed(model))
      .map(({ model, before, after, changedAt }) => ({
        id: model,
        changed_at: new Date(changedAt).toISOString(),
        before: JSON.parse(before),
        after: JSON.parse(after),
      })),
    since: since === undefined ? null : new Date(since).toISOString(),
  };
}
