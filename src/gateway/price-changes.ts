/** Changes of the prices of models: the store remembers the prices that a catalog was last seen with. */

import type { Catalog } from '../catalog/catalog.ts';
import type { Json } from '../core/json/json.ts';
import type { CatalogModel } from '../core/model.ts';
import { readPriceChanges } from '../http/price-changes.ts';
import type { SeenPrices } from '../store/operations/price-changes.ts';
import type { Store } from '../store/store.ts';
import type { ProviderRegistry } from './provider-registry.ts';

export interface PriceChangeOptions {
  store: Pick<Store, 'call' | 'now'>;
  models: Pick<ProviderRegistry, 'catalog' | 'routes' | 'states' | 'discovered'>;
}

/** Longer ones are not remembered. */
const MAX_PRICES_CHARACTERS = 4096;
const MAX_NAME_CHARACTERS = 500;

/** Catalogs whose prices are in the store; a catalog never changes, another one takes its place. */
const noted = new WeakMap<Catalog, Promise<void>>();

/** Compares the prices of now with those that the store remembers, once for each catalog. */
async function notePrices({ store, models }: PriceChangeOptions): Promise<void> {
  await models.discovered();
  const catalog = models.catalog();
  const noting = noted.get(catalog) ?? noteAll(store, seenIn(models));
  noted.set(catalog, noting);
  try {
    await noting;
  } catch (error) {
    // The next look tries again.
    noted.delete(catalog);
    throw error;
  }
}

async function noteAll(store: PriceChangeOptions['store'], seen: readonly SeenPrices[]): Promise<void> {
  while (await store.call('notePrices', { seen, now: store.now() }));
}

/** Leaves out models of unreachable providers: without the list of the provider, their prices would look changed. */
function seenIn({ catalog, routes, states }: PriceChangeOptions['models']): SeenPrices[] {
  const unreachable = new Set(states().flatMap(({ id, state }) => (state === 'unreachable' ? [id] : [])));
  return catalog()
    .all()
    .filter(({ id, provider }) => {
      const providers = [provider, ...(routes.models.get(id) ?? []).map((endpoint) => endpoint.provider)];
      return !providers.some((one) => unreachable.has(one));
    })
    .flatMap(seenPrices);
}

/** Changes that were seen, the newest first, with the prices of a token before and after. */
export async function priceChangesOf(options: PriceChangeOptions): Promise<Json> {
  await notePrices(options);
  return readPriceChanges(options.store);
}

function seenPrices({ id, pricing, priceTiers }: CatalogModel): SeenPrices[] {
  const tiers = priceTiers?.map(({ minPromptTokens, pricing: tier }) => ({
    min_prompt_tokens: minPromptTokens,
    pricing: sorted(tier),
  }));
  const prices = JSON.stringify({ pricing: sorted(pricing), ...(tiers && { tiers }) });
  const isKept = prices.length <= MAX_PRICES_CHARACTERS && id.length <= MAX_NAME_CHARACTERS && !id.includes('\0');
  return isKept ? [{ model: id, prices }] : [];
}

function sorted(pricing: CatalogModel['pricing']): CatalogModel['pricing'] {
  return Object.fromEntries(Object.entries(pricing).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
