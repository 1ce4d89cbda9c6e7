/** Use and cost of all keys, by key, tag, model, provider, protocol or status, with what is below each figure. */

import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState } from 'react';
import { useKeyName, useTagNames } from '../../keys.ts';
import { StackedBars } from '../../parts/chart/bars.tsx';
import { OTHER } from '../../parts/chart/colors.ts';
import type { BarsProps } from '../../parts/chart/props.ts';
import { CopyAs, type SameCall } from '../../parts/copy-as.tsx';
import { dollars, formatShort } from '../../parts/numbers.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { RangePicker } from '../../parts/range-picker.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { Empty, Loaded, LoadingBlock } from '../../parts/states.tsx';
import { ColumnChoice, type RowsFile, SaveRows } from '../../parts/table-tools.tsx';
import { Unanswered } from '../../parts/unanswered.tsx';
import { UnknownCosts } from '../../parts/unknown-costs.tsx';
import { formatMoment, momentsOf, type Span, spanBetween } from '../../spans.ts';
import {
  fileOfGroups,
  filterOf,
  keyNamesOf,
  type Sums,
  sameReport,
  type UsageReport,
  usageOfAll,
  useAnswered,
  useReport,
  videosIn,
  wordsOf,
} from '../../usage.ts';
import { Controls, METRIC_NAMES } from './controls.tsx';
import { bucketsOf, courseBefore, figureOf, groupsOf, NONE, runningSums } from './groups.ts';
import { both, type Dimension, type Metric, type UseFilters } from './search.ts';
import { columnsOf, GroupTable, USE_TABLE } from './table.tsx';
import { Totals } from './totals.tsx';

const FirstRequest = lazy(() =>
  import('../../parts/first-request.tsx').then((module) => ({ default: module.FirstRequest })),
);

const route = getRouteApi('/use');

export function UsePage() {
  const {
    by = 'model',
    metric = 'cost',
    top = '8',
    second: chosen,
    cumulative,
    compare,
    table,
    ...given
  } = route.useSearch();
  const second = chosen === by ? undefined : chosen;
  const navigate = route.useNavigate();
  const tagNames = useTagNames();
  const { key, model, provider, protocol, status, tag } = given;
  const filters = { key, model, provider, protocol, status, tag };
  const keyName = useKeyName(key);
  const questionOf = (one: Span) => ({
    ...{ span: one, by: [one.step, by], filters, subgroup: second },
    ...{ top: Number(top), topBy: metric, compare: compare !== false },
  });
  const { span, asked } = useReport(given, (one) => usageOfAll(questionOf(one)));
  const videos = useQuery({ ...usageOfAll(videosIn(questionOf(span))), enabled: protocol === undefined });
  const change = (next: Partial<ReturnType<typeof route.useSearch>>) =>
    navigate({ search: (search) => ({ ...search, ...next }) });
  const drill = (next: UseFilters) =>
    change({ ...next, by: second ?? (by === 'model' ? 'key' : 'model'), second: undefined });
  const shown = useAnswered({ by, second, metric, span, filters }, asked.isPlaceholderData);
  const keyNames = useMemo(() => (asked.data ? keyNamesOf(asked.data) : new Map()), [asked.data]);
  const label = (dimension: Dimension, id: string) => {
    if (id === OTHER) return 'Other';
    if (id === NONE) return dimension.startsWith('tag:') ? 'without the tag' : 'not known';
    return (dimension === 'key' && keyNames.get(id)) || id;
  };

  return (
    <Page
      title="Use and cost"
      about="Sums are exact. Each leads to its requests."
      actions={<SavedViews path="/use" onOpen={(href) => void navigate({ href })} />}
    >
      <RangePicker time={given} span={span} byDefault="24h" onChange={change} />
      {!asked.error && (
        <Unanswered
          sources={[
            { name: 'Names of tags', asked: tagNames },
            { name: 'Sums of videos', asked: videos },
          ]}
        />
      )}
      <Controls
        view={{ by, second, metric, top, per: given.per, cumulative, compare }}
        {...{ span, filters, keyName, onChange: change }}
        tagNames={tagNames.data ?? []}
      />
      <Loaded asked={asked} loading={<LoadingBlock className="h-96" />}>
        {(report) =>
          report.data.length === 0 ? (
            <NoUse isFiltered={Object.values(shown.filters).some(Boolean)} />
          ) : (
            <Report
              {...shown}
              {...{ report, videos: protocol === undefined ? videos.data : undefined, label }}
              isCumulative={cumulative === true}
              isTable={table === true}
              onTable={(isTable) => change({ table: isTable || undefined })}
              same={sameReport(questionOf(span))}
              file={{
                file: `use-by-${[by, ...(second ? [second] : [])].join('-').replaceAll(':', '-')}-${given.range ?? 'own'}`,
                rows: fileOfGroups(questionOf(span)),
              }}
              onDrill={drill}
              onZoom={(own) => change({ range: undefined, per: undefined, ...own })}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

interface ReportProps extends Pick<BarsProps, 'isTable' | 'onTable'> {
  report: UsageReport;
  /** Of the videos among it, where these are asked for apart. */
  videos: UsageReport | undefined;
  by: Dimension;
  second: Dimension | undefined;
  metric: Metric;
  span: Span;
  filters: UseFilters;
  isCumulative: boolean;
  same: SameCall;
  file: RowsFile;
  label(dimension: Dimension, id: string): string;
  onDrill(filters: UseFilters): void;
  onZoom(own: { from: string; to: string }): void;
}

function Report(props: ReportProps) {
  const { report, videos, by, second, metric, span, filters, isCumulative, same, file, label, onDrill, onZoom } = props;
  const { isTable, onTable } = props;
  const { total, before } = report;
  const moments = momentsOf(span);
  const groups = groupsOf(report, { by, second, metric, moments });
  const ofVideos = videos ? groupsOf(videos, { by, second, metric, moments: [] }) : [];
  const { buckets, ids } = bucketsOf(groups, moments, isCumulative);
  const [marked, setMarked] = useState<string>();
  /** Groups without a colour of their own are one series. */
  const seriesOf = (id: string) => (ids.includes(id) ? id : OTHER);
  const course = courseBefore(report, span, metric);
  const format = formatOf(metric, total);
  const title = `${METRIC_NAMES[metric]} per ${span.step}`;
  const pick = (id: string) => {
    const own = id === OTHER || id === NONE ? undefined : both(filters, filterOf(by, id));
    if (own) onDrill(own);
  };
  return (
    <>
      <Totals
        {...{ total, span, filters }}
        videos={videos?.total}
        before={before?.total}
        unpriced={report.models_without_price}
      />
      <UnknownCosts models={report.models_without_price} />
      <Card title={isCumulative ? `${title}, cumulative` : title}>
        <div className="p-4">
          <StackedBars
            {...{ isTable, onTable }}
            label={`${title} by ${wordsOf(by)}. In all: ${format(figureOf(total, metric))}.`}
            buckets={buckets}
            series={ids.map((id) => ({ id, label: label(by, id) }))}
            line={course && { label: 'Period before', values: isCumulative ? runningSums(course) : course }}
            format={format}
            formatTime={(at) => formatMoment(at, span)}
            onZoom={(first, last) => onZoom(spanBetween(span, first.at, last.at))}
            onPick={pick}
            marked={marked}
            onMark={setMarked}
          />
        </div>
      </Card>
      <Card
        title={`By ${wordsOf(by)}${second ? `, then ${wordsOf(second)}` : ''}`}
        actions={
          <div className="flex flex-wrap gap-2">
            <CopyAs {...same} />
            <ColumnChoice table={USE_TABLE} columns={columnsOf(by, second, before !== null)} />
            <SaveRows {...file} />
          </div>
        }
      >
        <GroupTable
          {...{ by, second, groups, videos: ofVideos, total, metric, span, filters, label, format, onDrill }}
          videosOfAll={videos?.total}
          before={before?.total}
          isMarked={(id) => marked !== undefined && seriesOf(id) === marked}
          onMark={(id) => setMarked(id === undefined ? undefined : seriesOf(id))}
        />
      </Card>
    </>
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

function formatOf(metric: Metric, total: Sums): (value: number) => string {
  if (metric !== 'cost') return formatShort;
  const most = Number(total.cost ?? 0);
  const digits = most === 0 || most >= 10 ? 2 : Math.min(9, Math.max(2, Math.ceil(-Math.log10(most)) + 3));
  return dollars(digits);
}
