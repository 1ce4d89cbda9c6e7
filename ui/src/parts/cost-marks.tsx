/** Marks of a sum of costs: a part of it is of estimates, or a part is not in it because models have no price. */

import type { Sums } from '../usage.ts';
import { PartEstimateMark } from './estimate-mark.tsx';

/** Of a cost that is null, all is unknown and nothing needs a mark. */
export function CostMarks({
  cost,
  estimated_cost,
  unpriced_tokens,
}: Pick<Sums, 'cost' | 'estimated_cost' | 'unpriced_tokens'>) {
  return (
    <>
      <PartEstimateMark cost={estimated_cost} />
      {cost !== null && unpriced_tokens > 0 && <span className="text-dim"> + unknown</span>}
    </>
  );
}
