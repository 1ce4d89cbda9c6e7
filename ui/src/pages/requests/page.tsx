/** Requests as they come: filters, what runs, what ended, and one of them in all details. */

import { getRouteApi } from '@tanstack/react-router';
import { Pause, Play } from 'lucide-react';
import { lazy, Suspense, useEffect } from 'react';
import { ClockTime, TimeZone } from '../../parts/clock-time.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Time } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { RangePicker } from '../../parts/range-picker.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty, ErrorNotice, LoadingRows } from '../../parts/states.tsx';
import { Older } from '../../parts/table.tsx';
import { TableTools } from '../../parts/table-tools.tsx';
import { useTimeFilter } from '../../parts/time-filter.ts';
import { isTyping } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { LOCAL_ZONE, useSpan } from '../../spans.ts';
import { RequestDetails } from './details.tsx';
import { FilterBar } from './filter-bar.tsx';
import { Summary } from './headline.tsx';
import { useRequests } from './live-list.ts';
import { commandOfList, pathOfList } from './query.ts';
import { columnsOf, RequestTable } from './rows.tsx';
import { Sessions, SessionTools } from './sessions.tsx';

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
  const { pages, rows, stale, searchedTo } = useRequests(filters, paused);
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
              view === 'sessions' ? (
                <SessionTools filters={filters} isPaused={paused} />
              ) : (
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
              {stale && (rows.length > 0 || !pages.error) && (
                <div className="p-3">
                  <ErrorNotice error={stale.error} onRetry={stale.onRetry} />
                  <p className="mt-2 text-warn">
                    Shown is what was there at <ClockTime at={stale.at} />.
                  </p>
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
