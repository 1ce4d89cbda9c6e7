/** Facts of a model that the gateway knows by itself: when its price changed, and for operators its times of late. */

import { useQuery } from '@tanstack/react-query';
import { formatCount, Time } from '../../parts/numbers.tsx';
import type { Source } from '../../parts/unanswered.tsx';
import { useSession } from '../../session.ts';
import { PRICES, Price } from './prices.tsx';
import { type ModelStatistics, modelStatistics, type PriceChange, priceChanges } from './query.ts';

export interface ModelFigures {
  /** Whether times may be seen: they are made of what all keys ask for. */
  hasTimes: boolean;
  statisticsOf(id: string): ModelStatistics | undefined;
  changeOf(id: string): PriceChange | undefined;
  /** Since when prices are remembered. */
  since: string | undefined;
  sources: readonly Source[];
}

/** Undefined for those who may not see them. */
export function useModelFigures(): ModelFigures | undefined {
  const { isOperator, session } = useSession();
  const hasPrices = isOperator || session?.role === 'key';
  const measured = useQuery({ ...modelStatistics, enabled: isOperator });
  const prices = useQuery({ ...priceChanges(isOperator), enabled: hasPrices });
  if (!hasPrices) return undefined;
  return {
    hasTimes: isOperator,
    statisticsOf: (id) => measured.data?.get(id),
    changeOf: (id) => prices.data?.changes.get(id),
    since: prices.data?.since ?? undefined,
    sources: [
      ...(isOperator ? [{ name: 'Times to the first byte and tokens per second', asked: measured }] : []),
      { name: 'Changes of prices', asked: prices },
    ],
  };
}

export function firstByteText(statistics: ModelStatistics | null | undefined): string {
  return statistics ? `${formatCount(Math.round(statistics.first_byte_seconds * 1000))} ms` : '—';
}

export function throughputText(statistics: ModelStatistics | null | undefined): string {
  return statistics?.tokens_per_second ? formatCount(Math.round(statistics.tokens_per_second)) : '—';
}

/** Each price that changed, and when the gateway saw it. */
export function LastPriceChange({ id }: { id: string }) {
  const figures = useModelFigures();
  if (!figures) return null;
  const change = figures.changeOf(id);
  if (!change) {
    if (figures.since === undefined) return null;
    return (
      <p className="mt-2 text-dim">
        Not changed since <Time at={figures.since} />, when this gateway began to remember prices.
      </p>
    );
  }
  const { before, after, changed_at: at } = change;
  const changed = PRICES.filter(({ name }) => before.pricing[name] !== after.pricing[name]);
  return (
    <p className="mt-2 text-dim">
      Changed <Time at={at} />
      {changed.length > 0 ? ': ' : ', in other prices than these.'}
      {changed.map(({ name, label, unit }, index) => (
        <span key={name}>
          {index > 0 && ', '}
          {label.toLowerCase()} <Price usd={before.pricing[name]} unit={unit} /> →{' '}
          <span className="text-ink">
            <Price usd={after.pricing[name]} unit={unit} />
          </span>
        </span>
      ))}
    </p>
  );
}
