/** Requests as they come: filters, what runs, what ended, and one of them in all details. */

import { getRouteApi } from '@tanstack/react-router';
import { Pause, Play } from 'lucide-react';
import { lazy, Suspense, useEffect } from 'react';
import { CopyButton } from '../../parts/button.tsx';
import { formatCount, formatMs, formatShort, Money, Time, TimeZone } from '../../parts/numbers.tsx';
import { Card, Figure, Figures, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { RangePicker } from '../../parts/range-picker.tsx';
import { RequestsLink } from '../../parts/requests-link.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty, ErrorNotice, Loaded, LoadingBlock, LoadingRows } from '../../parts/states.tsx';
import { Older } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { Unanswered } from '../../parts/unanswered.tsx';
import { isTyping } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { LOCAL_ZONE, useSpan } from '../../spans.ts';
import { RequestDetails } from './details.tsx';
import { FilterBar } from './filter-bar.tsx';
import {
  commandOfList,
  type Filters,
  pathOfList,
  type RequestRate,
  type RequestSummary,
  rateOf,
  useNewest,
  useRequests,
  useSummary,
} from './query.ts';
import { columnsOf, RequestTable } from './rows.tsx';
import { Sessions } from './sessions.tsx';
import { useTimeFilter } from './time-filter.ts';

const FirstRequest = lazy(() =>
  import('../../parts/first-request.tsx').then((module) => ({ default: module.FirstRequest })),
);

const route = getRouteApi('/requests');

export function RequestsPage() {
  const { open, paused = false, view = 'requests', range, from, to, zone = LOCAL_ZONE, ...chosen } = route.useSearch();
  const { isOperator } = useSession();
  const time = { range, from, to, zone };
  const span = useSpan(time);
  const filters = { ...chosen, ...useTimeFilter(time) };
  const navigate = route.useNavigate();
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }), replace: true });
  const { pages, rows, error, searchedTo } = useRequests(filters, paused);
  const setPaused = (next: boolean) => change({ paused: next || undefined });

  useEffect(() => {
    function onKey(event: KeyboardEvent) {
      if (event.key === 'p' && !isTyping(event)) setPaused(!paused);
    }
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });

  return (
    <TimeZone value={zone}>
      <Page
        title="Requests"
        about="Each request as it ends, the last one first. Prompts and answers are not kept."
        actions={
          <>
            <SavedViews path="/requests" onOpen={(href) => void navigate({ href })} />
            <Segments label="View" values={VIEWS} value={view} onChange={(next) => change({ view: next })} />
            <button type="button" className="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {paused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
              {paused ? 'Go on' : 'Pause'}
            </button>
          </>
        }
      >
        <RangePicker time={time} span={span} byDefault="any" onChange={change} />
        <Summary filters={filters} zone={zone} isPaused={paused} />
        <Card>
          <FilterBar
            filters={chosen}
            onChange={change}
            tools={
              view === 'requests' && (
                <TableTools
                  table="Requests"
                  columns={columnsOf(isOperator)}
                  file="requests"
                  rows={pathOfList(isOperator, filters, 'csv')}
                  same={{ path: pathOfList(isOperator, filters), ...commandOfList(isOperator, filters) }}
                />
              )
            }
          />
          {view === 'sessions' ? (
            <Sessions filters={filters} isPaused={paused} onOpen={(session) => change({ session, view: undefined })} />
          ) : (
            <>
              {error && rows.length > 0 && (
                <div className="p-3">
                  <ErrorNotice error={error} />
                  <p className="mt-2 text-warn">Shown is what was there before.</p>
                </div>
              )}
              {pages.error && rows.length === 0 ? (
                <div className="p-3">
                  <ErrorNotice error={pages.error} onRetry={() => void pages.refetch()} />
                </div>
              ) : pages.isPending ? (
                <LoadingRows rows={10} />
              ) : rows.length === 0 && !pages.hasNextPage ? (
                <NoRequests isFiltered={Object.values(filters).some((value) => value !== undefined)} />
              ) : (
                <RequestTable rows={rows} open={open} onOpen={(id) => change({ open: id })} />
              )}
              <Older pages={pages} isAutomatic>
                {searchedTo && (
                  <span className="text-dim">
                    searched back to <Time at={searchedTo} />
                  </span>
                )}
              </Older>
            </>
          )}
        </Card>
        <Panel
          title="Request"
          isOpen={open !== undefined}
          onClose={() => change({ open: undefined })}
          actions={open && <CopyButton text={open} label="Copy the id" />}
        >
          {open && <RequestDetails id={open} />}
        </Panel>
      </Page>
    </TimeZone>
  );
}

interface SummaryProps {
  filters: Filters;
  zone: string;
  isPaused: boolean;
}

function Summary({ filters, zone, isPaused }: SummaryProps) {
  const asked = useSummary(filters, isPaused);
  const newest = useNewest(filters, isPaused);
  return (
    <>
      {!asked.error && <Unanswered sources={[{ name: 'Requests a second and cost an hour', asked: newest }]} />}
      <Loaded asked={asked} loading={<LoadingBlock className="h-24" />}>
        {(data) => <Headline {...{ data, filters, zone }} rate={rateOf(newest.isNow ? newest.data : data)} />}
      </Loaded>
    </>
  );
}

interface HeadlineProps {
  data: RequestSummary;
  rate: RequestRate | undefined;
  filters: Filters;
  zone: string;
}

function Headline({ data, rate, filters, zone }: HeadlineProps) {
  const failed = data.requests > 0 ? (100 * data.failures) / data.requests : 0;
  const time = (ms: number | null) => (ms === null ? '—' : formatMs(ms));
  const isLastHour = !filters.from && !filters.to && hasAll(data);
  const timesOf = timedWords(data);
  const span = { from: new Date(data.from), to: new Date(data.to), zone };
  const { from: _from, to: _to, ...others } = filters;
  const isOther = filters.status !== undefined && filters.status !== 'failed';
  return (
    <Figures>
      <Figure
        label="In flight"
        value={formatCount(data.running)}
        note={
          <>
            {rate && formatRate(rate.requests)}
            <RunningNote ignored={data.running_ignores} />
          </>
        }
      />
      <Figure
        label={isLastHour ? 'Last hour' : 'Requests'}
        value={
          <RequestsLink span={span} filters={others}>
            {formatCount(data.requests)}
          </RequestsLink>
        }
        note={<SpanNote summary={data} />}
      />
      <Figure
        label="Cost"
        value={
          <RequestsLink span={span} filters={others}>
            <Money usd={data.cost} />
          </RequestsLink>
        }
        note={costNote(data, rate?.cost, isLastHour ? 'in the last hour' : 'in this time')}
      />
      <Figure
        label="First byte"
        value={time(data.first_byte_ms.p50)}
        note={`p95 ${time(data.first_byte_ms.p95)}${timesOf}`}
      />
      <Figure label="Whole answer" value={time(data.total_ms.p50)} note={`p95 ${time(data.total_ms.p95)}${timesOf}`} />
      <Figure
        label="Failed"
        value={
          <RequestsLink span={span} filters={isOther ? undefined : { ...others, status: 'failed' }}>
            {percent(failed)}
          </RequestsLink>
        }
        note={
          data.requests > 0 && (
            <>
              {`${percent(100 - failed)} answered`} <span>{brokenOff(data)}</span>
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

/** Which requests the times are of, where these are not the records of all. */
function timedWords({ timed, requests, times_estimated: estimated }: RequestSummary): string {
  if (!estimated) return timed < requests ? ` of the newest ${formatShort(timed)}` : '';
  return timed < requests ? ` of ${formatShort(timed)} that are counted` : ` of all ${formatShort(timed)}`;
}

function percent(share: number): string {
  return `${share.toFixed(Number.isInteger(share) || (share >= 10 && share <= 90) ? 0 : 1)} %`;
}

/** By the minute, or the hour, where few come. */
function formatRate(perSecond: number): string {
  const [count, unit] =
    perSecond >= 0.1 ? [perSecond, 's'] : perSecond >= 1 / 600 ? [60 * perSecond, 'min'] : [3600 * perSecond, 'h'];
  return `${count.toLocaleString('en-US', { maximumFractionDigits: count < 100 ? 1 : 0 })} req/${unit}`;
}

/** `perHour` is in USD, of the moment where the time goes on. */
function costNote({ unknown_costs: unknown }: RequestSummary, perHour: number | undefined, time: string) {
  const digits = perHour && perHour < 0.1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  const known = perHour === undefined ? undefined : `$${perHour.toLocaleString('en-US', digits)}/h`;
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

/** What is not a failure, and no whole answer either. */
function brokenOff({ partial, interrupted }: RequestSummary): string {
  const counts = { partial, interrupted };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${formatCount(count)} ${name}`)
    .join(', ');
}

function NoRequests({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No request is like that">Remove a filter to see others.</Empty>;
  return (
    <Empty title="No requests yet">
      They appear here within a few seconds after their end. Send the first one:
      <Suspense>
        <FirstRequest />
      </Suspense>
    </Empty>
  );
}

const VIEWS = ['requests', 'sessions'] as const;
