/** Headline of use: sums of the time, compared with the time before, and how well they are known. */

import { CircleAlert } from 'lucide-react';
import { formatCount, formatShort, Money } from '../../parts/numbers.tsx';
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
        value={percentOf(total.cached_tokens, total.input_tokens)}
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
            {percentOf(total.failures, total.requests)}
          </RequestsLink>
        }
        note={
          partial ? (
            <RequestsLink span={span} filters={both(filters, { status: 'partial' })}>
              {partial}
            </RequestsLink>
          ) : (
            before && (before.requests > 0 ? `${percentOf(before.failures, before.requests)} before` : 'none before')
          )
        }
      />
      <Figure
        label="Estimated"
        value={
          <RequestsLink span={span} filters={{ ...filters, estimated: true }}>
            {percentOf(Number(total.estimated_cost), figureOf(total, 'cost'))}
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
          note={`${percentOf(total.unpriced_tokens, tokens)} of tokens`}
        />
      )}
    </Figures>
  );
}

/** Of the cost is said beside. */
function estimates({ estimated_tokens: estimated, input_tokens, output_tokens, assessed, requests }: Sums): string {
  const share = `of cost, ${percentOf(estimated, input_tokens + output_tokens)} of tokens`;
  return assessed < requests ? `${share}, as far as known` : share;
}

/** A small share is not shown as none; there is none of nothing. */
function percentOf(part: number, whole: number): string {
  if (whole <= 0) return '—';
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  return `${percent.toFixed(percent > 0 && percent < 10 ? 1 : 0)} %`;
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
