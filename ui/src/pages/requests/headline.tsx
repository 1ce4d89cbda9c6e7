/** Line above the requests: those in flight, rates, cost, times and failures. */

import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { PartEstimateMark } from '../../parts/estimate-mark.tsx';
import { formatCount, formatMs, formatShare, formatShort, Money, Time } from '../../parts/numbers.tsx';
import { Figure, Figures } from '../../parts/page.tsx';
import { FIGURE_LINK, RequestsLink } from '../../parts/requests-link.tsx';
import { Loaded, LoadingBlock } from '../../parts/states.tsx';
import { Unanswered } from '../../parts/unanswered.tsx';
import { useAnswered } from '../../usage.ts';
import type { Filters } from './query.ts';
import { RATE_OVER, type RequestRate, type RequestSummary, rateOf, useNewest, useSummary } from './summary-query.ts';

interface SummaryProps {
  filters: Filters;
  zone: string;
  isPaused: boolean;
}

export function Summary({ filters, zone, isPaused }: SummaryProps) {
  const asked = useSummary(filters, isPaused);
  const newest = useNewest(filters, isPaused);
  const answered = useAnswered(filters, asked.isPlaceholderData);
  return (
    <>
      {!asked.error && <Unanswered sources={[{ name: 'Requests a second and cost an hour', asked: newest }]} />}
      <Loaded asked={asked} loading={<LoadingBlock className="as-figures" />}>
        {(data) => (
          <Headline
            {...{ data, zone }}
            filters={answered}
            rate={rateOf(newest.isNow ? newest.data : data)}
            rateOver={newest.isNow ? RATE_OVER : ''}
          />
        )}
      </Loaded>
    </>
  );
}

interface HeadlineProps {
  data: RequestSummary;
  rate: RequestRate | undefined;
  /** Words for the time that it is of; empty where that is the time of all figures. */
  rateOver: string;
  filters: Filters;
  zone: string;
}

function Headline({ data, rate, rateOver, filters, zone }: HeadlineProps) {
  const failedShare = formatShare(data.failures, data.requests);
  const time = (ms: number | null) => (ms === null ? '—' : formatMs(ms));
  const isOfBegin = filters.started_from !== undefined || filters.started_to !== undefined;
  const isLastHour = !filters.from && !filters.to && !isOfBegin && hasAll(data);
  const timesOf = timedWords(data);
  const span = { from: new Date(data.from), to: new Date(data.to), zone };
  const { from: _from, to: _to, ...others } = filters;
  const linked = (value: ReactNode, more: Pick<Filters, 'status'> = {}) =>
    isOfBegin ? (
      <Link to="/requests" search={{ ...filters, ...more, zone }} title="Show these requests" className={FIGURE_LINK}>
        {value}
      </Link>
    ) : (
      <RequestsLink span={span} by="end" filters={{ ...others, ...more }}>
        {value}
      </RequestsLink>
    );
  const isOther = filters.status !== undefined && filters.status !== 'failed';
  return (
    <Figures>
      <Figure
        label="In flight"
        value={formatCount(data.running)}
        note={
          <>
            {rate && formatRate(rate.requests) + rateOver}
            <RunningNote ignored={data.running_ignores} />
          </>
        }
      />
      <Figure
        label={isLastHour ? 'Last hour' : 'Requests'}
        value={linked(formatCount(data.requests))}
        note={<SpanNote summary={data} />}
      />
      <Figure
        label="Cost"
        value={
          <>
            {linked(<Money usd={data.cost} />)}
            <PartEstimateMark cost={data.estimated_cost} />
          </>
        }
        note={costNote(data, rate && { ...rate, over: rateOver }, isLastHour ? 'in the last hour' : 'in this time')}
      />
      <Figure
        label="First byte"
        value={time(data.first_byte_ms.p50)}
        note={`p95 ${time(data.first_byte_ms.p95)}${timesOf}`}
      />
      <Figure label="Whole answer" value={time(data.total_ms.p50)} note={`p95 ${time(data.total_ms.p95)}${timesOf}`} />
      <Figure
        label="Failed"
        value={isOther ? failedShare : linked(failedShare, { status: 'failed' })}
        note={
          data.requests > 0 && (
            <>
              {`${formatShare(data.requests - data.failures, data.requests)} answered`} <span>{brokenOff(data)}</span>
            </>
          )
        }
      />
    </Figures>
  );
}

/** Very many requests are summed up by whole hours, or only the newest ones are. */
function hasAll({ complete, timed, requests, times_estimated: estimated }: RequestSummary): boolean {
  return complete && timed === requests && !estimated;
}

function SpanNote({ summary }: { summary: RequestSummary }) {
  const { from, complete } = summary;
  if (hasAll(summary)) return 'requests';
  return (
    <>
      {complete ? '' : 'newest ones, '}since <Time at={from} withDate={false} />
    </>
  );
}

/** Requests of which the times are, where these are not the records of all. */
function timedWords({ timed, requests, times_estimated: estimated }: RequestSummary): string {
  if (!estimated) return timed < requests ? ` of the newest ${formatShort(timed)}` : '';
  return timed < requests ? ` of ${formatShort(timed)} that are counted` : ` of all ${formatShort(timed)}`;
}

/** By the minute, or the hour, where few come. */
function formatRate(perSecond: number): string {
  const [count, unit] =
    perSecond >= 0.1 ? [perSecond, 's'] : perSecond >= 1 / 600 ? [60 * perSecond, 'min'] : [3600 * perSecond, 'h'];
  return `${count.toLocaleString('en-US', { maximumFractionDigits: count < 100 ? 1 : 0 })} req/${unit}`;
}

/** The rate is of the last minutes where the time goes on. */
function costNote(
  { unknown_costs: unknown }: RequestSummary,
  rate: (RequestRate & { over: string }) | undefined,
  time: string,
) {
  const perHour = rate?.cost;
  const digits = perHour && perHour < 0.1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  const known = perHour === undefined ? undefined : `$${perHour.toLocaleString('en-US', digits)}/h${rate?.over}`;
  if (unknown === 0) return known ?? time;
  return (
    <>
      {known} <span className="text-warn">{`${known ? '+ ' : 'of '}${formatCount(unknown)} unknown`}</span>
    </>
  );
}

/** How a request ends is not known before. */
function RunningNote({ ignored }: { ignored: readonly string[] }) {
  if (ignored.length === 0) return null;
  const names = ignored.map((name) => name.replaceAll('_', ' ')).join(', ');
  return <span title={`Counted without the filter by ${names}`}>{` any ${names}`}</span>;
}

/** Outcomes that are no failures, and no whole answers either. */
function brokenOff({ partial, interrupted }: RequestSummary): string {
  const counts = { partial, interrupted };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${formatCount(count)} ${name}`)
    .join(', ');
}
