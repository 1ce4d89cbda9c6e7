/** Headline of use: sums of the time, compared with the time before, and how well they are known. */

import { CircleAlert } from 'lucide-react';
import { formatCount, formatShare, formatShort, Money } from '../../parts/numbers.tsx';
import { Figure, Figures } from '../../parts/page.tsx';
import { RequestsLink, videoShare } from '../../parts/requests-link.tsx';
import type { Span } from '../../spans.ts';
import type { Sums } from '../../usage.ts';
import { figureOf } from './groups.ts';
import { both, type Metric, type UseFilters } from './search.ts';

interface TotalsProps {
  total: Sums;
  before: Sums | undefined;
  /** Of the videos among them; undefined until it is known. */
  videos: Sums | undefined;
  /** Models without a price. */
  unpriced: readonly string[];
  span: Span;
  filters: UseFilters;
}

export function Totals({ total, before, videos, unpriced, span, filters }: TotalsProps) {
  const share = videoShare(videos?.requests ?? 0, total.requests);
  const tokens = total.input_tokens + total.output_tokens;
  const note = (metric: Metric) => before && noteOf(figureOf(total, metric), figureOf(before, metric));
  const partial = total.partial > 0 && `${formatCount(total.partial)} partial`;
  return (
    <Figures>
      <Figure
        label="Cost"
        value={
          <RequestsLink span={span} videos={share} filters={filters}>
            <Money usd={total.cost} />
          </RequestsLink>
        }
        note={note('cost')}
      />
      <Figure
        label="Requests"
        value={
          <RequestsLink span={span} videos={share} filters={filters}>
            {formatCount(total.requests)}
          </RequestsLink>
        }
        note={note('requests')}
      />
      <Figure
        label="Tokens"
        value={
          <RequestsLink span={span} videos={share} filters={filters}>
            {formatShort(tokens)}
          </RequestsLink>
        }
        note={note('tokens')}
      />
      <Figure
        label="Input from a cache"
        value={formatShare(total.cached_tokens, total.input_tokens)}
        note={
          <RequestsLink span={span} videos={share} filters={filters}>
            {formatShort(total.cached_tokens)} tokens
          </RequestsLink>
        }
      />
      <Figure
        label="Failed"
        value={
          <RequestsLink
            span={span}
            videos={videoShare(videos?.failures ?? 0, total.failures)}
            filters={both(filters, { status: 'failed' })}
          >
            {formatShare(total.failures, total.requests)}
          </RequestsLink>
        }
        note={
          partial ? (
            <RequestsLink span={span} filters={both(filters, { status: 'partial' })}>
              {partial}
            </RequestsLink>
          ) : (
            before && (before.requests > 0 ? `${formatShare(before.failures, before.requests)} before` : 'none before')
          )
        }
      />
      <Figure
        label="Estimated"
        value={
          <RequestsLink span={span} filters={{ ...filters, estimated: true }}>
            {formatShare(Number(total.estimated_cost), figureOf(total, 'cost'))}
          </RequestsLink>
        }
        note={estimates(total)}
      />
      {unpriced.length > 0 && (
        <Figure
          label="Unknown price"
          value={
            <span className="text-warn">
              {unpriced.length} {unpriced.length === 1 ? 'model' : 'models'}{' '}
              <CircleAlert size={15} aria-hidden className="inline align-[-0.1em]" />
            </span>
          }
          note={`${formatShare(total.unpriced_tokens, tokens)} of tokens`}
        />
      )}
    </Figures>
  );
}

/** Of the cost is said beside. */
function estimates({ estimated_tokens: estimated, input_tokens, output_tokens, assessed, requests }: Sums): string {
  const share = `of cost, ${formatShare(estimated, input_tokens + output_tokens)} of tokens`;
  return assessed < requests ? `${share}, as far as known` : share;
}

function noteOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? 'as before' : 'none before';
  return `${changeOf(now, before)} vs before`;
}

/** In a word. */
export function changeOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? '—' : 'new';
  const percent = Math.round((100 * (now - before)) / before);
  return `${percent >= 0 ? '+' : '−'}${formatCount(Math.abs(percent))} %`;
}
