/** Use and cost of all keys, by key, tag, model, provider, protocol or status, with what is below each figure. */

import { getRouteApi } from '@tanstack/react-router';
import { Download, X } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { csvOf, saveFile } from '../../csv.ts';
import { useKeyNames, useTagNames } from '../../keys.ts';
import { StackedBars } from '../../parts/chart/bars.tsx';
import { OTHER } from '../../parts/chart/colors.ts';
import { Spark } from '../../parts/chart/spark.tsx';
import { formatCount, formatShort, Money } from '../../parts/numbers.tsx';
import { Card, Figure, Figures, Page, TableScroll } from '../../parts/page.tsx';
import { RangePicker } from '../../parts/range-picker.tsx';
import { RequestsLink } from '../../parts/requests-link.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty, Loaded, LoadingBlock } from '../../parts/states.tsx';
import { UnknownCosts } from '../../parts/unknown-costs.tsx';
import { formatMoment, momentsOf, type Span, spanBetween } from '../../spans.ts';
import { filterOf, type Sums, sumOf, usageOfAll, useReport, wordsOf } from '../../usage.ts';
import { bucketsOf, figureOf, type Group, groupsOf, METRICS, type Metric, NONE } from './groups.ts';
import { type Dimension, PLAIN_DIMENSIONS, type UseFilters } from './search.ts';

const FirstRequest = lazy(() =>
  import('../../parts/first-request.tsx').then((module) => ({ default: module.FirstRequest })),
);

const route = getRouteApi('/use');
const FILTERS = [...PLAIN_DIMENSIONS, 'tag'] as const;
const METRIC_NAMES: Record<Metric, string> = {
  cost: 'Cost',
  requests: 'Requests',
  tokens: 'Tokens',
  failures: 'Failures',
};
const HEAD = ['requests', 'failures', 'input_tokens', 'cached_tokens', 'output_tokens', 'cost'] as const;

export function UsePage() {
  const { by = 'model', metric = 'cost', ...given } = route.useSearch();
  const navigate = route.useNavigate();
  const nameOf = useKeyNames();
  const tagNames = useTagNames();
  const { key, model, provider, protocol, status, tag } = given;
  const filters = { key, model, provider, protocol, status, tag };
  const offered = new Set<Dimension>([...PLAIN_DIMENSIONS, ...tagNames.map((name) => `tag:${name}` as const), by]);
  const { span, asked } = useReport(given, (one) =>
    usageOfAll({ span: one, by: [one.step, by], filters, compare: true }),
  );
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }) });
  const label = (id: string) => {
    if (id === OTHER) return 'Other';
    if (id === NONE) return by.startsWith('tag:') ? 'without the tag' : 'not known';
    return by === 'key' ? nameOf(id) : id;
  };

  return (
    <Page
      title="Use and cost"
      about="Sums are exact. Each leads to its requests."
      actions={<SavedViews path="/use" onOpen={(href) => void navigate({ href })} />}
    >
      <RangePicker time={given} span={span} byDefault="24h" onChange={change} />
      <div className="flex flex-wrap items-center gap-2">
        <Segments
          label="Figure"
          values={METRICS}
          names={METRIC_NAMES}
          value={metric}
          onChange={(next) => change({ metric: next })}
        />
        <Select
          label="Group"
          value={by}
          options={[...offered].map((name) => ({ value: name, label: `by ${wordsOf(name)}` }))}
          onChange={(next) => change({ by: next })}
        />
        {FILTERS.map((name) => {
          const value = filters[name];
          return (
            value && (
              <button
                key={name}
                type="button"
                className="button !bg-accent-soft"
                onClick={() => change({ [name]: undefined })}
              >
                {name}: {name === 'key' ? nameOf(value) : value}
                <X size={13} aria-label="Remove this filter" />
              </button>
            )
          );
        })}
      </div>
      <Loaded asked={asked} loading={<LoadingBlock className="h-96" />}>
        {({ data, before, models_without_price: unknown }) => {
          const moments = momentsOf(span);
          const groups = groupsOf(data, { by, metric, moments });
          const { buckets, ids } = bucketsOf(groups, moments);
          const total = sumOf(data);
          const hasCost = (id: string) => by !== 'model' || !unknown.includes(id);
          const drill = (id: string) => change({ ...filterOf(by, id), by: by === 'model' ? 'key' : 'model' });
          if (data.length === 0) return <NoUse isFiltered={Object.values(filters).some(Boolean)} />;
          return (
            <>
              <Totals total={total} before={before?.total} span={span} filters={filters} />
              <UnknownCosts models={unknown} />
              <Card title={`${METRIC_NAMES[metric]} per ${span.step}`}>
                <div className="p-4">
                  <StackedBars
                    label={`${METRIC_NAMES[metric]} per ${span.step} by ${wordsOf(by)}. In all: ${formatOf(metric, total)(figureOf(total, metric))}.`}
                    buckets={buckets}
                    series={ids.map((id) => ({ id, label: label(id) }))}
                    format={formatOf(metric, total)}
                    formatTime={(at) => formatMoment(at, span)}
                    onZoom={(first, last) => change({ range: undefined, ...spanBetween(span, first.at, last.at) })}
                    onPick={(id) => id !== OTHER && id !== NONE && drill(id)}
                  />
                </div>
              </Card>
              <Card
                title={`By ${wordsOf(by)}`}
                actions={
                  <button
                    data-export
                    type="button"
                    className="button"
                    onClick={() =>
                      saveFile(
                        `use-by-${by.replace(':', '-')}-${given.range ?? 'own'}.csv`,
                        csvOfGroups(
                          by,
                          groups.map((group) => (hasCost(group.id) ? group : { ...group, cost: '' })),
                          label,
                        ),
                      )
                    }
                  >
                    <Download size={14} aria-hidden />
                    CSV
                  </button>
                }
              >
                <GroupTable
                  by={by}
                  groups={groups}
                  total={total}
                  metric={metric}
                  label={label}
                  hasCost={hasCost}
                  span={span}
                  filters={filters}
                  onDrill={drill}
                />
              </Card>
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}

function NoUse({ isFiltered }: { isFiltered: boolean }) {
  return (
    <Card>
      {isFiltered ? (
        <Empty title="No request is like that in this time">Remove a filter, or choose a longer time.</Empty>
      ) : (
        <Empty title="No requests in this time">
          Choose a longer time, or send one. It is counted within a few seconds:
          <Suspense>
            <FirstRequest />
          </Suspense>
        </Empty>
      )}
    </Card>
  );
}

function csvOfGroups(by: Dimension, groups: readonly Group[], label: (id: string) => string): string {
  const rows = groups.map((group) => [group.id, label(group.id), ...HEAD.map((name) => group[name])]);
  return csvOf([by, 'name', ...HEAD], rows);
}

function formatOf(metric: Metric, total: Sums): (value: number) => string {
  if (metric !== 'cost') return formatShort;
  const most = Number(total.cost);
  const digits = most === 0 || most >= 10 ? 2 : Math.min(9, Math.max(2, Math.ceil(-Math.log10(most)) + 3));
  return (usd) => `$${usd.toFixed(digits)}`;
}

interface TotalsProps {
  total: Sums;
  before: Sums | undefined;
  span: Span;
  filters: UseFilters;
}

function Totals({ total, before, span, filters }: TotalsProps) {
  const cached = total.input_tokens > 0 ? Math.round((100 * total.cached_tokens) / total.input_tokens) : 0;
  const failed = total.requests > 0 ? (100 * total.failures) / total.requests : 0;
  const note = (metric: Metric) => before && changeOf(figureOf(total, metric), figureOf(before, metric));
  return (
    <Figures>
      <Figure
        label="Cost"
        value={
          <RequestsLink span={span} filters={filters}>
            <Money usd={total.cost} />
          </RequestsLink>
        }
        note={note('cost')}
      />
      <Figure
        label="Requests"
        value={
          <RequestsLink span={span} filters={filters}>
            {formatCount(total.requests)}
          </RequestsLink>
        }
        note={note('requests')}
      />
      <Figure label="Tokens" value={formatShort(total.input_tokens + total.output_tokens)} note={note('tokens')} />
      <Figure label="Input from a cache" value={`${cached} %`} note={`${formatShort(total.cached_tokens)} tokens`} />
      <Figure
        label="Failed"
        value={
          <RequestsLink span={span} filters={both(filters, { status: 'failed' })}>
            {failed.toFixed(failed > 0 && failed < 10 ? 1 : 0)} %
          </RequestsLink>
        }
        note={note('failures')}
      />
    </Figures>
  );
}

function changeOf(now: number, before: number): string {
  if (before === 0) return now === 0 ? 'as before' : 'none before';
  const percent = Math.round((100 * (now - before)) / before);
  return `${percent >= 0 ? '+' : '−'}${Math.abs(percent)} % to the time before`;
}

interface GroupTableProps {
  by: Dimension;
  groups: readonly Group[];
  total: Sums;
  metric: Metric;
  span: Span;
  filters: UseFilters;
  label(id: string): string;
  /** Whether the cost of a group is known. */
  hasCost(id: string): boolean;
  onDrill(id: string): void;
}

function GroupTable({ by, groups, total, metric, span, filters, label, hasCost, onDrill }: GroupTableProps) {
  const whole = figureOf(total, metric);
  return (
    <TableScroll label={`Use by ${wordsOf(by)}`}>
      <table className="data">
        <thead>
          <tr>
            <th scope="col" className="first-letter:uppercase">
              {wordsOf(by)}
            </th>
            {['Requests', 'Failed', 'In', 'Cached', 'Out', 'Cost', 'Share', 'Trend'].map((name) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group.id} data-opens={group.id === NONE ? undefined : ''}>
              <td>
                {group.id === NONE ? (
                  <span className="text-dim">{label(group.id)}</span>
                ) : (
                  <button
                    type="button"
                    className="font-medium hover:text-accent hover:underline"
                    onClick={() => onDrill(group.id)}
                  >
                    {label(group.id)}
                  </button>
                )}
              </td>
              <Cells
                sums={group}
                hasCost={hasCost(group.id)}
                span={span}
                filters={group.id === NONE ? undefined : both(filters, filterOf(by, group.id))}
              />
              <td className="number text-dim">
                {whole > 0 ? `${Math.round((100 * figureOf(group, metric)) / whole)} %` : '—'}
              </td>
              <td className="number">
                <Spark values={group.course} label={`Course of ${label(group.id)}`} />
              </td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr className="font-medium">
            <td>Total</td>
            <Cells sums={total} span={span} filters={filters} />
            <td />
            <td />
          </tr>
        </tfoot>
      </table>
    </TableScroll>
  );
}

/** Undefined where the two contradict each other: no request is of both. */
function both(filters: UseFilters, more: UseFilters): UseFilters | undefined {
  const isContrary = Object.entries(more).some(([name, value]) => {
    const given = filters[name as keyof UseFilters];
    return given !== undefined && given !== value;
  });
  return isContrary ? undefined : { ...filters, ...more };
}

interface CellsProps {
  sums: Sums;
  hasCost?: boolean;
  span: Span;
  /** Absent where no filters name these requests. */
  filters: UseFilters | undefined;
}

function Cells({ sums, hasCost = true, span, filters }: CellsProps) {
  return (
    <>
      <td className="number">
        <RequestsLink span={span} filters={filters}>
          {formatCount(sums.requests)}
        </RequestsLink>
      </td>
      <td className={`number ${sums.failures > 0 ? 'text-bad' : 'text-dim'}`}>
        <RequestsLink
          span={span}
          filters={sums.failures > 0 && filters ? both(filters, { status: 'failed' }) : undefined}
        >
          {formatCount(sums.failures)}
        </RequestsLink>
      </td>
      <td className="number">{formatShort(sums.input_tokens)}</td>
      <td className="number text-dim">{formatShort(sums.cached_tokens)}</td>
      <td className="number">{formatShort(sums.output_tokens)}</td>
      <td className="number">
        <RequestsLink span={span} filters={filters}>
          <Money usd={hasCost ? sums.cost : null} />
        </RequestsLink>
      </td>
    </>
  );
}
