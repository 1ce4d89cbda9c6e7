/** Use and cost of all keys, by key, tag, model, provider, protocol or status, with what is below each figure. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Download, X } from 'lucide-react';
import { useMemo } from 'react';
import { csvOf, saveFile } from '../../csv.ts';
import { useKeyNames, useTagNames } from '../../keys.ts';
import { StackedBars } from '../../parts/chart/bars.tsx';
import { OTHER } from '../../parts/chart/colors.ts';
import { Spark } from '../../parts/chart/spark.tsx';
import { formatCount, formatShort, Money } from '../../parts/numbers.tsx';
import { Card, Figure, Figures, Page, TableScroll } from '../../parts/page.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Select } from '../../parts/select.tsx';
import { Empty, Loaded, LoadingBlock } from '../../parts/states.tsx';
import {
  type Dimension,
  filterOf,
  momentsOf,
  PLAIN_DIMENSIONS,
  RANGES,
  type Sums,
  spanBefore,
  spanOf,
  sumOf,
  usageOfAll,
  wordsOf,
} from '../../usage.ts';
import { bucketsOf, figureOf, type Group, groupsOf, METRICS, type Metric, NONE } from './groups.ts';

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
  const { range = '24h', by = 'model', metric = 'cost', ...given } = route.useSearch();
  const navigate = route.useNavigate();
  const nameOf = useKeyNames();
  const tagNames = useTagNames();
  const { key, model, provider, protocol, status, tag } = given;
  const filters = { key, model, provider, protocol, status, tag };
  const offered = new Set<Dimension>([...PLAIN_DIMENSIONS, ...tagNames.map((name) => `tag:${name}` as const), by]);
  const minute = Math.floor(Date.now() / 60_000);
  const span = useMemo(() => spanOf(range, minute * 60_000), [range, minute]);
  const asked = useQuery({ ...usageOfAll({ span, by: [span.step, by], filters }), refetchInterval: 30_000 });
  const before = useQuery(usageOfAll({ span: spanBefore(span), by: [by], filters }));
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
      about="Sums are exact, and times are UTC."
      actions={
        <>
          <SavedViews path="/use" onOpen={(href) => void navigate({ href })} />
          <Segments label="Time" values={RANGES} value={range} onChange={(next) => change({ range: next })} />
        </>
      }
    >
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
        {({ data }) => {
          const moments = momentsOf(span);
          const groups = groupsOf(data, { by, metric, moments });
          const { buckets, ids } = bucketsOf(groups, moments);
          const total = sumOf(data);
          const earlier = before.data && !before.isPlaceholderData ? sumOf(before.data.data) : undefined;
          if (data.length === 0)
            return (
              <Card>
                <Empty title="No requests in this time">
                  Send one with a key, or choose a longer time. It is counted within a few seconds.
                </Empty>
              </Card>
            );
          return (
            <>
              <Totals total={total} before={earlier} />
              <Card title={`${METRIC_NAMES[metric]} per ${span.step}`}>
                <div className="p-4">
                  <StackedBars
                    label={`${METRIC_NAMES[metric]} per ${span.step} by ${wordsOf(by)}. In all: ${formatOf(metric, total)(figureOf(total, metric))}.`}
                    buckets={buckets}
                    series={ids.map((id) => ({ id, label: label(id) }))}
                    format={formatOf(metric, total)}
                    formatTime={(at) => formatMoment(at, span.step)}
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
                      saveFile(`use-by-${by.replace(':', '-')}-${range}.csv`, csvOfGroups(by, groups, label))
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
                  onDrill={(id) => change({ ...filterOf(by, id), by: by === 'model' ? 'key' : 'model' })}
                />
              </Card>
            </>
          );
        }}
      </Loaded>
    </Page>
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

function formatMoment(at: string, step: 'hour' | 'day'): string {
  const options = { timeZone: 'UTC', hour12: false } as const;
  return step === 'hour'
    ? new Date(at).toLocaleTimeString(undefined, { ...options, hour: '2-digit', minute: '2-digit' })
    : new Date(at).toLocaleDateString(undefined, { ...options, month: 'short', day: 'numeric' });
}

function Totals({ total, before }: { total: Sums; before: Sums | undefined }) {
  const cached = total.input_tokens > 0 ? Math.round((100 * total.cached_tokens) / total.input_tokens) : 0;
  const failed = total.requests > 0 ? (100 * total.failures) / total.requests : 0;
  const note = (metric: Metric) => before && changeOf(figureOf(total, metric), figureOf(before, metric));
  return (
    <Figures>
      <Figure label="Cost" value={<Money usd={total.cost} />} note={note('cost')} />
      <Figure label="Requests" value={formatCount(total.requests)} note={note('requests')} />
      <Figure label="Tokens" value={formatShort(total.input_tokens + total.output_tokens)} note={note('tokens')} />
      <Figure label="Input from a cache" value={`${cached} %`} note={`${formatShort(total.cached_tokens)} tokens`} />
      <Figure label="Failed" value={`${failed.toFixed(failed > 0 && failed < 10 ? 1 : 0)} %`} note={note('failures')} />
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
  label(id: string): string;
  onDrill(id: string): void;
}

function GroupTable({ by, groups, total, metric, label, onDrill }: GroupTableProps) {
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
            <tr key={group.id} data-opens>
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
              <Cells sums={group} />
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
            <Cells sums={total} />
            <td />
            <td />
          </tr>
        </tfoot>
      </table>
    </TableScroll>
  );
}

function Cells({ sums }: { sums: Sums }) {
  return (
    <>
      <td className="number">{formatCount(sums.requests)}</td>
      <td className={`number ${sums.failures > 0 ? 'text-bad' : 'text-dim'}`}>{formatCount(sums.failures)}</td>
      <td className="number">{formatShort(sums.input_tokens)}</td>
      <td className="number text-dim">{formatShort(sums.cached_tokens)}</td>
      <td className="number">{formatShort(sums.output_tokens)}</td>
      <td className="number">
        <Money usd={sums.cost} />
      </td>
    </>
  );
}
