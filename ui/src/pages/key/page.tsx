/** Page of a key's holder: what it may do, and what it has used. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { Budgets, budgetsOf } from '../../parts/budgets.tsx';
import { StackedBars } from '../../parts/chart/bars.tsx';
import type { BarsProps, Bucket } from '../../parts/chart/props.ts';
import { TimeZone } from '../../parts/clock-time.tsx';
import { CopyAs } from '../../parts/copy-as.tsx';
import { CostMarks } from '../../parts/cost-marks.tsx';
import { limitRows, limitWords } from '../../parts/limits.ts';
import { dollars, formatCount, formatShare, formatShort, Money, Time } from '../../parts/numbers.tsx';
import { Card, Figure, Figures, Page } from '../../parts/page.tsx';
import { modelLimitRows, permissionRows } from '../../parts/permissions.ts';
import { RangePicker } from '../../parts/range-picker.tsx';
import { RequestsLink, videoShare } from '../../parts/requests-link.tsx';
import { Empty, Loaded, LoadingBlock, LoadingRows } from '../../parts/states.tsx';
import { BreakableName, numbers, Table } from '../../parts/table.tsx';
import { SaveRows } from '../../parts/table-tools.tsx';
import { Unanswered } from '../../parts/unanswered.tsx';
import { UnknownCosts } from '../../parts/unknown-costs.tsx';
import { useSession } from '../../session.ts';
import { formatMoment, momentsOf, type Span, spanBetween } from '../../spans.ts';
import type { TimeSearch } from '../../times.ts';
import {
  momentOf,
  type Sums,
  sameOwnReport,
  sumOf,
  type UsageReport,
  usageOfOwn,
  useAnswered,
  useReport,
  videosIn,
} from '../../usage.ts';
import { Connect } from './connect.tsx';
import { NewestRequests } from './newest.tsx';
import { type KeyFacts, keyFacts } from './query.ts';
import { WebhookSecret } from './secret.tsx';

const route = getRouteApi('/key');
/** Models that are shown one by one. */
const MODELS = 20;
/** As high as the chart that is to come. */
const ROWS_OF_CHART = 10;

export function KeyPage() {
  const { table, program: _program, ...time } = route.useSearch();
  const navigate = route.useNavigate();
  const { mayChange } = useSession();
  const facts = useQuery(keyFacts);
  const questionOf = (one: Span) => ({ span: one, by: [one.step, 'model'], top: MODELS });
  const { span, asked } = useReport(time, (one) => usageOfOwn(questionOf(one)));
  const videos = useQuery(usageOfOwn(videosIn(questionOf(span))));
  const shown = useAnswered(span, asked.isPlaceholderData);
  const change = (next: TimeSearch & { table?: true | undefined }) =>
    navigate({ search: (search) => ({ ...search, ...next }), resetScroll: false });
  return (
    <TimeZone value={span.zone}>
      <Page title="My key" about="What this key may do, and what it has used.">
        <RangePicker time={time} span={span} byDefault="24h" onChange={change} />
        {!asked.error && <Unanswered sources={[{ name: 'Sums of videos', asked: videos }]} />}
        <Loaded asked={asked} loading={<LoadingBlock className="as-figures" />}>
          {({ total, models_without_price: unknown }) => (
            <>
              <Totals total={total} videos={videos.data?.total} span={shown} />
              <UnknownCosts models={unknown} />
            </>
          )}
        </Loaded>
        <Card title="Cost">
          <div className="p-4">
            <Loaded asked={asked} loading={<LoadingRows rows={ROWS_OF_CHART} />}>
              {(report) => (
                <CostOverTime
                  report={report}
                  span={shown}
                  isTable={table === true}
                  onTable={(isTable) => change({ table: isTable || undefined })}
                  onZoom={(own) => change({ range: undefined, ...own })}
                />
              )}
            </Loaded>
          </div>
        </Card>
        <div className="grid items-start gap-5 lg:grid-cols-[2fr_1fr]">
          <Card
            title="By model"
            actions={
              <div className="flex flex-wrap gap-2">
                <CopyAs {...sameOwnReport(questionOf(span))} />
                <SaveRows file="use" rows={asked.data?.data ?? []} />
              </div>
            }
          >
            <Loaded asked={asked}>{(report) => <ByModel report={report} videos={videos.data} span={shown} />}</Loaded>
          </Card>
          <Card title="Limits" actions={<CopyAs path="/v1/key" />}>
            <Loaded asked={facts}>{(key) => <LimitsOf facts={key} />}</Loaded>
          </Card>
          <NewestRequests />
          {mayChange && <WebhookSecret />}
        </div>
        <Connect />
      </Page>
    </TimeZone>
  );
}

interface TotalsProps {
  total: Sums;
  /** Of the videos among them. */
  videos: Sums | undefined;
  span: Span;
}

function Totals({ total, videos, span }: TotalsProps) {
  const ofVideos = videoShare(videos?.requests ?? 0, total.requests);
  const cached = total.input_tokens > 0 && `${formatShare(total.cached_tokens, total.input_tokens)} cached`;
  return (
    <Figures>
      <Figure
        label="Spent"
        value={
          <>
            <RequestsLink span={span} videos={ofVideos} filters={{}}>
              <Money usd={total.cost} />
            </RequestsLink>
            <CostMarks {...total} />
          </>
        }
      />
      <Figure
        label="Requests"
        value={
          <RequestsLink span={span} videos={ofVideos} filters={{}}>
            {formatCount(total.requests)}
          </RequestsLink>
        }
      />
      <Figure
        label="Tokens in"
        value={
          <RequestsLink span={span} videos={ofVideos} filters={{}}>
            {formatShort(total.input_tokens)}
          </RequestsLink>
        }
        note={cached}
      />
      <Figure
        label="Tokens out"
        value={
          <RequestsLink span={span} videos={ofVideos} filters={{}}>
            {formatShort(total.output_tokens)}
          </RequestsLink>
        }
      />
      <Figure
        label="Failed"
        value={formatShare(total.failures, total.requests)}
        note={
          <RequestsLink
            span={span}
            videos={videoShare(videos?.failures ?? 0, total.failures)}
            filters={{ status: 'failed' }}
          >
            {formatCount(total.failures)}
          </RequestsLink>
        }
      />
    </Figures>
  );
}

interface CostOverTimeProps extends Pick<BarsProps, 'isTable' | 'onTable'> {
  report: UsageReport;
  span: Span;
  onZoom(own: { from: string; to: string }): void;
}

function CostOverTime({ report, span, onZoom, isTable, onTable }: CostOverTimeProps) {
  const { step } = span;
  const buckets = bucketsOf(report, span);
  const most = Math.max(...buckets.map(({ values }) => values.cost ?? 0), 0);
  const digits = most === 0 ? 2 : Math.max(2, Math.ceil(-Math.log10(most)) + 2);
  const format = dollars(digits);
  return (
    <StackedBars
      {...{ isTable, onTable }}
      label={`Cost per ${step}, ${report.total.cost === null ? 'unknown' : `$${report.total.cost}`} in all.`}
      buckets={buckets}
      series={[{ id: 'cost', label: `Cost per ${step}` }]}
      format={format}
      formatTime={(at) => formatMoment(at, span)}
      onZoom={(first, last) => onZoom(spanBetween(span, first.at, last.at))}
    />
  );
}

/** One bucket for each moment, also for those without use. */
function bucketsOf(report: UsageReport, span: Span): Bucket[] {
  const lines = Map.groupBy(report.data, momentOf);
  return momentsOf(span).map((at) => ({ at, values: { cost: Number(sumOf(lines.get(at) ?? []).cost) } }));
}

interface ByModelProps {
  report: UsageReport;
  /** Of the videos among it. */
  videos: UsageReport | undefined;
  span: Span;
}

function ByModel({ report, videos, span }: ByModelProps) {
  if (report.data.length === 0)
    return <Empty title="No requests in this time">The first one appears here within a few seconds.</Empty>;
  return (
    <Table label="Use by model" columns={['Model', ...['Requests', 'In', 'Out', 'Cost'].map(numbers)]}>
      {[...Map.groupBy(report.data, ({ model, other }) => (other ? undefined : String(model)))]
        .map(([model, lines]) => ({ model, sums: sumOf(lines) }))
        .toSorted(
          (one, other) => Number(!one.model) - Number(!other.model) || Number(other.sums.cost) - Number(one.sums.cost),
        )
        .map(({ model, sums }) => {
          const made = sumOf(videos?.data.filter((line) => line.model === model) ?? []).requests;
          const figures = {
            requests: formatCount(sums.requests),
            input: formatShort(sums.input_tokens),
            output: formatShort(sums.output_tokens),
            cost: <Money usd={sums.cost} />,
          };
          return (
            <tr key={model}>
              <td className={`name ${model ? 'font-medium' : 'text-dim'}`}>
                <BreakableName name={model ?? 'Other'} />
              </td>
              {Object.entries(figures).map(([name, figure]) => (
                <td key={name} className="number">
                  <RequestsLink
                    span={span}
                    videos={videoShare(made, sums.requests)}
                    filters={model ? { model } : undefined}
                  >
                    {figure}
                  </RequestsLink>
                  {name === 'cost' && <CostMarks {...sums} />}
                </td>
              ))}
            </tr>
          );
        })}
    </Table>
  );
}

function LimitsOf({ facts }: { facts: KeyFacts }) {
  return (
    <div className="flex flex-col gap-4 p-4">
      <Budgets uses={budgetsOf(facts.effective)} spent={facts.spent} filters={{}} />
      <dl className="grid grid-cols-[1fr_auto] gap-x-4 gap-y-1.5">
        {[...limitRows(facts.effective.limits), ...modelLimitRows(facts), ...permissionRows(facts)].map(
          ([name, value]) => (
            <div key={name} className="contents">
              <dt className="text-dim break-all">{name}</dt>
              <dd className="text-right break-all">{value}</dd>
            </div>
          ),
        )}
        <dt className="text-dim">Expires</dt>
        <dd className="text-right">{facts.expires_at ? <Time at={facts.expires_at} /> : 'never'}</dd>
      </dl>
      {Object.entries(facts.tags).map(([tag, shared]) => (
        <section key={tag} className="flex flex-col gap-2 border-t pt-4">
          <h3>
            Shared by all keys with <span className="font-mono">{tag}</span>
          </h3>
          <Budgets uses={budgetsOf(shared)} spent={shared.spent} />
          <p className="text-dim">{limitWords(shared.limits) || 'No limits.'}</p>
        </section>
      ))}
    </div>
  );
}
