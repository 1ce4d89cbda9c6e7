/** Says of which models the cost is not in a sum, because they have no price. */

import { useQuery } from '@tanstack/react-query';
import type { Spending } from '../keys.ts';
import type { UseFilters } from '../pages/use/search.ts';
import { spanOfPeriod } from '../periods.ts';
import { gatewayNow } from '../times.ts';
import { usageOfAll } from '../usage.ts';
import { Unanswered } from './unanswered.tsx';

const MAX_NAMES = 5;
/** Sums of twenty years are the most that the gateway gives. */
const YEARS = 19;
const KEPT_MS = 60_000;

export function UnknownCosts({ models }: { models: readonly string[] }) {
  if (models.length === 0) return null;
  const more = models.length - MAX_NAMES;
  return (
    <p className="text-warn">
      {models.length === 1 ? 'The cost of one model' : `The cost of ${models.length} models`} is unknown and not in the
      sums, because nothing says its price: {models.slice(0, MAX_NAMES).join(', ')}
      {more > 0 && ` and ${more} more`}.
    </p>
  );
}

interface UnknownSpendingProps {
  spending: Spending;
  /** The key or the tag that it is of. */
  filters: UseFilters;
}

/** The same of all that a key or a tag spent, for operators. Asks for the models only where there are any. */
export function UnknownSpending({ spending, filters }: UnknownSpendingProps) {
  const { to, zone } = spanOfPeriod('total', new Date(gatewayNow()));
  const span = { from: new Date(Date.UTC(to.getUTCFullYear() - YEARS, 0)), to, zone, step: 'month' as const };
  const asked = useQuery({
    ...usageOfAll({ span, by: ['model'], filters, top: 1 }),
    enabled: spending.unpriced_tokens.total > 0,
    staleTime: KEPT_MS,
  });
  return (
    <>
      <Unanswered sources={[{ name: 'Names of models without a price', asked }]} />
      <UnknownCosts models={asked.data?.models_without_price ?? []} />
    </>
  );
}
