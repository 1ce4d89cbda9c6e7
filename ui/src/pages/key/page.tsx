/** Page of a key's holder: what it may do, and what it has used. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Budgets, budgetsOfKey, budgetsOfTag } from '../../parts/budgets.tsx';
import { type Bucket, StackedBars } from '../../parts/chart/bars.tsx';
import { limitRows, limitWords } from '../../parts/limits.ts';
import { formatCount, formatShort, Money, Time } from '../../parts/numbers.tsx';
import { Card, Figure, Figures, Page } from '../../parts/page.tsx';
import { Segments } from '../../parts/segments.tsx';
import { Empty, Loaded, LoadingBlock } from '../../parts/states.tsx';
import { numbers, Table } from '../../parts/table.tsx';
import { momentOf, momentsOf, RANGES, type Span, spanOf, type UsageReport, usageOfOwn } from '../../usage.ts';
import { Connect } from './connect.tsx';
import { type KeyFacts, keyFacts } from './query.ts';

const route = getRouteApi('/key');

export function KeyPage() {
  const { range = '24h' } = route.useSearch();
  const navigate = route.useNavigate();
  const facts = useQuery(keyFacts);
  const minute = Math.floor(Date.now() / 60_000);
  const span = useMemo(() => spanOf(range, minute * 60_000), [range, minute]);
  const over = useQuery(usageOfOwn({ span, by: [span.step] }));
  const models = useQuery(usageOfOwn({ span, by: ['model'] }));
  return (
    <Page
      title="My key"
      about="What this key may do, and what it has used. Times are UTC."
      actions={
        <Segments
          label="Time"
          values={RANGES}
          value={range}
          onChange={(next) => navigate({ search: { range: next } })}
        />
      }
    >
      <Loaded asked={over} loading={<LoadingBlock className="h-24" />}>
        {({ total }) => <Totals total={total} />}
      </Loaded>
      <Card title="Cost">
        <div className="p-4">
          <Loaded asked={over}>{(report) => <CostOverTime report={report} span={span} />}</Loaded>
        </div>
      </Card>
      <div className="grid gap-5 lg:grid-cols-[2fr_1fr]">
        <Card title="By model">
          <Loaded asked={models}>{(report) => <ByModel report={report} />}</Loaded>
        </Card>
        <Card title="Limits">
          <Loaded asked={facts}>{(key) => <LimitsOf facts={key} />}</Loaded>
        </Card>
      </div>
      <Connect />
    </Page>
  );
}

function Totals({ total }: { total: UsageReport['total'] }) {
  const share = total.input_tokens > 0 ? Math.round((100 * total.cached_tokens) / total.input_tokens) : 0;
  const failed = total.requests > 0 ? (100 * total.failures) / total.requests : 0;
  return (
    <Figures>
      <Figure label="Spent" value={<Money usd={total.cost} />} />
      <Figure label="Requests" value={formatCount(total.requests)} />
      <Figure label="Tokens in" value={formatShort(total.input_tokens)} note={`${share} % cached`} />
      <Figure label="Tokens out" value={formatShort(total.output_tokens)} />
      <Figure
        label="Failed"
        value={`${failed.toFixed(failed > 0 && failed < 10 ? 1 : 0)} %`}
        note={formatCount(total.failures)}
      />
    </Figures>
  );
}

function CostOverTime({ report, span }: { report: UsageReport; span: Span }) {
  const { step } = span;
  const most = Math.max(...report.data.map(({ cost }) => Number(cost)), 0);
  const digits = most === 0 ? 2 : Math.max(2, Math.ceil(-Math.log10(most)) + 2);
  const format = (usd: number) => `$${usd.toFixed(digits)}`;
  const formatTime = (at: string) => {
    const options = { timeZone: 'UTC', hour12: false } as const;
    return step === 'hour'
      ? new Date(at).toLocaleTimeString(undefined, { ...options, hour: '2-digit', minute: '2-digit' })
      : new Date(at).toLocaleDateString(undefined, { ...options, month: 'short', day: 'numeric' });
  };
  return (
    <StackedBars
      label={`Cost per ${step}, $${report.total.cost} in all.`}
      buckets={bucketsOf(report, span)}
      series={[{ id: 'cost', label: `Cost per ${step}` }]}
      format={format}
      formatTime={formatTime}
    />
  );
}

/** One bucket for each hour or day, also for those without use. */
function bucketsOf(report: UsageReport, span: Span): Bucket[] {
  const costs = new Map(report.data.map((line) => [momentOf(line), Number(line.cost)]));
  return momentsOf(span).map((at) => ({ at, values: { cost: costs.get(at) ?? 0 } }));
}

function ByModel({ report }: { report: UsageReport }) {
  if (report.data.length === 0)
    return <Empty title="No requests in this time">The first one appears here within a few seconds.</Empty>;
  return (
    <Table label="Use by model" columns={['Model', ...['Requests', 'In', 'Out', 'Cost'].map(numbers)]}>
      {report.data
        .toSorted((one, other) => Number(other.cost) - Number(one.cost))
        .map((line) => (
          <tr key={line.model}>
            <td className="font-medium">{line.model}</td>
            <td className="number">{formatCount(line.requests)}</td>
            <td className="number">{formatShort(line.input_tokens)}</td>
            <td className="number">{formatShort(line.output_tokens)}</td>
            <td className="number">
              <Money usd={line.cost} />
            </td>
          </tr>
        ))}
    </Table>
  );
}

function LimitsOf({ facts }: { facts: KeyFacts }) {
  return (
    <div className="flex flex-col gap-4 p-4">
      <Budgets uses={budgetsOfKey(facts)} />
      <dl className="grid grid-cols-[1fr_auto] gap-y-1.5">
        {limitRows(facts.limits).map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-dim">{name}</dt>
            <dd className="text-right">{value}</dd>
          </div>
        ))}
        <dt className="text-dim">Expires</dt>
        <dd className="text-right">{facts.expires_at ? <Time at={facts.expires_at} /> : 'never'}</dd>
      </dl>
      {Object.entries(facts.tags).map(([tag, shared]) => (
        <section key={tag} className="flex flex-col gap-2 border-t pt-4">
          <h3>
            Shared by all keys with <span className="font-mono">{tag}</span>
          </h3>
          <Budgets uses={budgetsOfTag(shared)} />
          <p className="text-dim">{limitWords(shared.limits) || 'No limits.'}</p>
        </section>
      ))}
    </div>
  );
}
