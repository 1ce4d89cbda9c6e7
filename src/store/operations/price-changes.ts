/** Prices of models as they were last seen, and when they changed. */

import { reading, writing } from '../operation.ts';

export interface SeenPrices {
  model: string;
  /** JSON with sorted names: the same prices are the same text. */
  prices: string;
}

export interface PriceChange {
  model: string;
  before: string;
  after: string;
  /** Unix milliseconds. */
  changedAt: number;
}

/** Ten times the longest catalog. Beyond it, models that are gone are forgotten, and then new ones are not remembered. */
const MAX_PRICED_MODELS = 20_000;
const MAX_PRICE_CHANGES = 2000;

/** Changes that are noted in one transaction, a statement each. */
const MAX_NOTED_CHANGES = 1000;

/**
 * Remembers the prices of all models, and the moment for those that differ. True if more differ than one call notes. Gateways that
 * see the same note it once.
 */
export const notePrices = writing<{ seen: readonly SeenPrices[]; now: number }, boolean>(
  'state',
  async (transaction, { seen, now }) => {
    const rows = await transaction.all('SELECT model, prices FROM model_price');
    const known = new Map(rows.map(({ model, prices }) => [String(model), String(prices)]));
    // In one order, so that two gateways never wait for each other.
    const sorted = seen.toSorted((one, other) => (one.model < other.model ? -1 : 1));
    const changed = sorted.filter(({ model, prices }) => known.has(model) && known.get(model) !== prices);
    for (const { model, prices } of changed.slice(0, MAX_NOTED_CHANGES)) {
      await transaction.run(
        `UPDATE model_price SET prices_before = prices, prices = :prices, changed_at = :now
         WHERE model = :model AND prices <> :prices`,
        { model, prices, now },
      );
    }
    const added = sorted.filter(({ model }) => !known.has(model));
    if (known.size + added.length > MAX_PRICED_MODELS) {
      for (const { model } of sorted) known.delete(model);
      await transaction.run(
        `DELETE FROM model_price WHERE model IN (
           SELECT model FROM model_price WHERE model IN (${transaction.textsIn('gone')}) ORDER BY model ${transaction.forUpdate})`,
        { gone: JSON.stringify([...known.keys()]) },
      );
    }
    const [{ n = 0 } = {}] = await transaction.all('SELECT count(*) AS n FROM model_price');
    const fresh = added.slice(0, Math.max(0, MAX_PRICED_MODELS - Number(n)));
    const inserted = fresh.map((one) => ({ ...one, seen_at: now }));
    if (inserted.length > 0) await transaction.insert('model_price', inserted, { ignoreDuplicates: true });
    return changed.length > MAX_NOTED_CHANGES;
  },
);

/** The newest changes first, and since when prices are remembered. */
export const readPriceChanges = reading<Record<string, never>, { changes: PriceChange[]; since: number | undefined }>(
  'state',
  async (transaction) => {
    const rows = await transaction.all(
      `SELECT model, prices, prices_before, changed_at FROM model_price WHERE changed_at IS NOT NULL
       ORDER BY changed_at DESC, model LIMIT :limit`,
      { limit: MAX_PRICE_CHANGES },
    );
    const [first] = await transaction.all('SELECT min(seen_at) AS since FROM model_price');
    return {
      changes: rows.map(({ model, prices, prices_before: before, changed_at: changedAt }) => ({
        model: String(model),
        before: String(before),
        after: String(prices),
        changedAt: Number(changedAt),
      })),
      since: first?.since == null ? undefined : Number(first.since),
    };
  },
);
