/** Requests as they come: filters, what runs, what ended, and one of them in all details. */

import { getRouteApi } from '@tanstack/react-router';
import { Pause, Play, X } from 'lucide-react';
import { useEffect } from 'react';
import { useKeyNames } from '../../keys.ts';
import { CopyButton } from '../../parts/button.tsx';
import { formatCount, formatMs, Money, Time, TimeZone } from '../../parts/numbers.tsx';
import { Card, Figure, Figures, Page } from '../../parts/page.tsx';
import { Panel } from '../../parts/panel.tsx';
import { RangePicker } from '../../parts/range-picker.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty, ErrorNotice, LoadingBlock, LoadingRows } from '../../parts/states.tsx';
import { Older } from '../../parts/table.tsx';
import { isTyping } from '../../parts/use-list-keys.ts';
import { useSession } from '../../session.ts';
import { LOCAL_ZONE, useSpan } from '../../spans.ts';
import { RequestDetails } from './details.tsx';
import { type Filters, useRequests, useSummary } from './query.ts';
import { RequestTable } from './rows.tsx';
import { Sessions } from './sessions.tsx';
import { useTimeFilter } from './time-filter.ts';

const route = getRouteApi('/requests');

export function RequestsPage() {
  const { open, paused = false, view = 'requests', range, from, to, zone = LOCAL_ZONE, ...chosen } = route.useSearch();
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
        <Summary filters={filters} isPaused={paused} />
        <Card>
          <FilterBar filters={chosen} onChange={change} />
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
                <Empty title="No request is like that">
                  Requests appear here within a few seconds after their end.
                </Empty>
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

function Summary({ filters, isPaused }: { filters: Filters; isPaused: boolean }) {
  const { data, error, refetch } = useSummary(filters, isPaused);
  if (!data)
    return error ? <ErrorNotice error={error} onRetry={() => void refetch()} /> : <LoadingBlock className="h-24" />;
  const failed = data.requests > 0 ? (100 * data.failures) / data.requests : 0;
  const time = (ms: number | null) => (ms === null ? '—' : formatMs(ms));
  return (
    <Figures>
      <Figure label="In flight" value={formatCount(data.running)} />
      <Figure
        label={filters.from || filters.to ? 'Requests' : 'Last hour'}
        value={formatCount(data.requests)}
        note={data.complete ? 'requests' : 'newest ones'}
      />
      <Figure
        label="Cost"
        value={<Money usd={data.cost} />}
        note={filters.from || filters.to ? 'in this time' : 'in the last hour'}
      />
      <Figure label="First byte" value={time(data.first_byte_ms.p50)} note={`p95 ${time(data.first_byte_ms.p95)}`} />
      <Figure label="Whole answer" value={time(data.total_ms.p50)} note={`p95 ${time(data.total_ms.p95)}`} />
      <Figure label="Failed" value={`${failed.toFixed(failed > 0 && failed < 10 ? 1 : 0)} %`} />
    </Figures>
  );
}

const VIEWS = ['requests', 'sessions'] as const;

const CHOICES = {
  status: ['completed', 'partial', 'failed', 'cancelled', 'interrupted'],
  protocol: ['chat', 'messages', 'generate', 'responses'],
} as const;

const FREE = ['model', 'provider', 'code', 'tag', 'session'] as const;

interface FilterBarProps {
  filters: Filters;
  onChange(next: Partial<Filters>): void;
}

function FilterBar({ filters, onChange }: FilterBarProps) {
  const { isOperator } = useSession();
  const chips = Object.entries(filters).filter(([name, value]) => value !== undefined && !(name in CHOICES));
  return (
    <div className="flex flex-wrap items-center gap-2 border-b p-3">
      {(['status', 'protocol'] as const).map((name) => (
        <Select
          key={name}
          label={name}
          value={filters[name] ?? ''}
          options={[{ value: '', label: `Any ${name}` }, ...CHOICES[name].map((value) => ({ value, label: value }))]}
          onChange={(value) => onChange({ [name]: value || undefined })}
        />
      ))}
      <form
        className="flex min-w-56 flex-1"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          const words = String(new FormData(form).get('filter')).trim();
          onChange(filterOf(words));
          form.reset();
        }}
      >
        <label className="flex-1">
          <span className="sr-only">Filter</span>
          <input
            className="input"
            name="filter"
            data-search
            placeholder={`${FREE.join(':… ')}:… slower:2000 cost:0.05 dropped fellback`}
          />
        </label>
      </form>
      {chips.map(([name, value]) => (
        <button
          key={name}
          type="button"
          className="button !bg-accent-soft"
          onClick={() => onChange({ [name]: undefined })}
        >
          {name === 'key' && isOperator ? (
            <KeyChip hash={String(value)} />
          ) : (
            `${name}${value === true ? '' : `: ${value}`}`
          )}
          <X size={13} aria-label="Remove this filter" />
        </button>
      ))}
    </div>
  );
}

function KeyChip({ hash }: { hash: string }) {
  return `key: ${useKeyNames()(hash)}`;
}

/** Filters from words such as `model:openai/gpt-4o slower:2000 dropped`. A word without a name is a model. */
function filterOf(words: string): Partial<Filters> {
  const found: Partial<Filters> = {};
  for (const word of words.split(/\s+/).filter(Boolean)) {
    const mark = word.indexOf(':');
    const [name, value] = mark < 0 ? ['', word] : [word.slice(0, mark), word.slice(mark + 1)];
    const free = FREE.find((one) => one === name);
    if (word === 'dropped') found.dropped = true;
    else if (word === 'fellback') found.fell_back = true;
    else if (name === 'slower' && /^\d{1,9}$/.test(value)) found.slower_than = Number(value);
    else if (name === 'cost') found.cost_above = value;
    else if (free) found[free] = value;
    else found.model = word;
  }
  return found;
}
