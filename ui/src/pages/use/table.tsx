/** Table of use: one line a group, the lines of its second level below, and the total. */

import { OTHER } from '../../parts/chart/colors.ts';
import { Spark } from '../../parts/chart/spark.tsx';
import { CostMarks } from '../../parts/cost-marks.tsx';
import { useHiddenColumns } from '../../parts/hidden-columns.ts';
import { formatCount, formatShare, formatShort, Money } from '../../parts/numbers.tsx';
import { type FigureFilters, RequestsLink, videoShare } from '../../parts/requests-link.tsx';
import { BreakableName, type Column, columnOf, numbers } from '../../parts/table.tsx';
import { TableScroll } from '../../parts/table-scroll.tsx';
import { formatMoment, momentsOf, type Span } from '../../spans.ts';
import { filterOf, type Sums, TAG, wordsOf } from '../../usage.ts';
import { METRIC_NAMES } from './controls.tsx';
import { figureOf, type Group, NONE, type Subgroup } from './groups.ts';
import { both, type Dimension, type Metric, type UseFilters } from './search.ts';
import { changeOf } from './totals.tsx';

export interface GroupTableProps {
  by: Dimension;
  second: Dimension | undefined;
  groups: readonly Group[];
  /** Of the videos among them. */
  videos: readonly Group[];
  total: Sums;
  videosOfAll: Sums | undefined;
  /** In the time before; undefined without comparison. */
  before: Sums | undefined;
  metric: Metric;
  span: Span;
  filters: UseFilters;
  label(dimension: Dimension, id: string): string;
  /** A value of the metric. */
  format(value: number): string;
  /** Called with the filters of a line. */
  onDrill(filters: UseFilters): void;
  /** Whether the group is the one that is pointed at, here or in the bars. */
  isMarked(id: string): boolean;
  /** Called with the group that is pointed at, and with nothing when none is. */
  onMark(id: string | undefined): void;
}

/** Name under which the choice of its columns is kept. */
export const USE_TABLE = 'Use';

export function columnsOf(by: Dimension, second: Dimension | undefined, hasBefore: boolean): Column[] {
  const figures = ['Requests', 'Failed', 'Partial', 'In', 'Cached', 'Out', 'Cost'];
  const name = `${wordsOf(by)}${second ? `, then ${wordsOf(second)}` : ''}`;
  return [name, ...[...figures, ...(hasBefore ? ['Before'] : []), 'Share', 'Trend'].map(numbers)];
}

export function GroupTable(props: GroupTableProps) {
  const { by, second, groups, total, videosOfAll, before, metric, span, filters } = props;
  const [hidden] = useHiddenColumns(USE_TABLE);
  const [first = '', ...names] = columnsOf(by, second, before !== undefined).map((column) => columnOf(column).name);
  const label = `Use by ${wordsOf(by)}${second ? `, then ${wordsOf(second)}` : ''}`;
  const places = names.flatMap((name, index) => (hidden.includes(name) ? [index + 2] : []));
  return (
    <TableScroll label={label}>
      <table className="data" aria-label={label} data-hidden={places.length > 0 ? places.join(' ') : undefined}>
        <thead>
          <tr>
            <th scope="col" className="first-letter:uppercase">
              {first}
            </th>
            {names.map((name) => (
              <th key={name} scope="col" className="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <GroupLines key={group.id} group={group} whole={figureOf(total, metric)} {...props} />
          ))}
        </tbody>
        <tfoot>
          <tr className="font-medium">
            <td>Total</td>
            <Cells sums={total} videos={videosOfAll} span={span} filters={filters} />
            {before && <Change now={figureOf(total, metric)} before={figureOf(before, metric)} />}
            <td />
            <td />
          </tr>
        </tfoot>
      </table>
    </TableScroll>
  );
}

function GroupLines(props: GroupTableProps & { group: Group; whole: number }) {
  const { group, videos, whole, by, second, metric, span, filters, label, onDrill, isMarked, onMark } = props;
  const own = filtersOf(by, group.id, filters);
  const ownVideos = videos.find(({ id }) => id === group.id);
  const ofGroup = figureFilters(by, group.id, filters);
  const share = (sums: Sums) => formatShare(figureOf(sums, metric), whole);
  const name = label(by, group.id);
  const mark = {
    'data-marked': isMarked(group.id) ? '' : undefined,
    onPointerEnter: () => onMark(group.id),
    onPointerLeave: () => onMark(undefined),
    onFocus: () => onMark(group.id),
    onBlur: () => onMark(undefined),
  };
  return (
    <>
      <tr data-opens={own && ''} {...mark}>
        <td className="name">
          <Name filters={own} onDrill={onDrill} className="font-medium">
            {name}
          </Name>
        </td>
        <Cells sums={group} videos={ownVideos} span={span} filters={ofGroup} />
        {group.before !== undefined && <Change now={figureOf(group, metric)} before={group.before} />}
        <td className="number text-dim">{share(group)}</td>
        <td className="number">
          <Spark values={group.course} label={`Course of ${name}: ${courseWords(group, props)}`} />
        </td>
      </tr>
      {second &&
        group.subgroups.map((sums: Subgroup) => {
          const ofBoth = own && filtersOf(second, sums.id, own);
          return (
            <tr key={sums.id} data-opens={ofBoth && ''} data-level="2" {...mark}>
              <td className="name !pl-8">
                <Name filters={ofBoth} onDrill={onDrill} className="text-dim">
                  {label(second, sums.id)}
                </Name>
              </td>
              <Cells
                sums={sums}
                videos={ownVideos?.subgroups.find(({ id }) => id === sums.id)}
                span={span}
                filters={ofGroup && figureFilters(second, sums.id, ofGroup)}
              />
              {group.before !== undefined && <td />}
              <td className="number text-dim">{share(sums)}</td>
              <td />
            </tr>
          );
        })}
    </>
  );
}

/** In a sentence: from the least to the most, when that was, and the last. */
function courseWords({ course }: Group, { metric, span, format }: GroupTableProps): string {
  const most = Math.max(...course);
  const at = momentsOf(span)[course.indexOf(most)] ?? '';
  const figures = `${format(Math.min(...course))} to ${format(most)} (${formatMoment(at, span)})`;
  return `${METRIC_NAMES[metric]} per ${span.step} ${figures}, last ${format(course.at(-1) ?? 0)}`;
}

/** Undefined where no filters name the requests of a group. */
function filtersOf(dimension: Dimension, id: string, more: UseFilters): UseFilters | undefined {
  return id === NONE || id === OTHER ? undefined : both(more, filterOf(dimension, id));
}

/** Also of the group of requests without a tag. */
function figureFilters(dimension: Dimension, id: string, more: FigureFilters): FigureFilters | undefined {
  if (id === NONE && dimension.startsWith(TAG)) return both(more, { without_tag: dimension.slice(TAG.length) });
  return id === NONE || id === OTHER ? undefined : both(more, filterOf(dimension, id));
}

interface NameProps {
  filters: UseFilters | undefined;
  onDrill(filters: UseFilters): void;
  className?: string;
  children: string;
}

function Name({ filters, onDrill, className = '', children }: NameProps) {
  const name = <BreakableName name={children} />;
  if (!filters) return <span className="text-dim">{name}</span>;
  return (
    <button
      type="button"
      className={`${className} text-left hover:text-accent hover:underline`}
      onClick={() => onDrill(filters)}
    >
      {name}
    </button>
  );
}

function Change({ now, before }: { now: number; before: number }) {
  return <td className="number text-dim">{changeOf(now, before)}</td>;
}

interface CellsProps {
  sums: Sums;
  /** Of the videos among them. */
  videos: Sums | undefined;
  span: Span;
  /** Absent where no filters name these requests. */
  filters: FigureFilters | undefined;
}

function Cells({ sums, videos, span, filters }: CellsProps) {
  const share = videoShare(videos?.requests ?? 0, sums.requests);
  const shareOfFailures = videoShare(videos?.failures ?? 0, sums.failures);
  const ofStatus = (status: string, count: number) => (count > 0 && filters ? both(filters, { status }) : undefined);
  return (
    <>
      <td className="number">
        <RequestsLink span={span} videos={share} filters={filters}>
          {formatCount(sums.requests)}
        </RequestsLink>
      </td>
      <td className={`number ${sums.failures > 0 ? 'text-bad' : 'text-dim'}`}>
        <RequestsLink span={span} videos={shareOfFailures} filters={ofStatus('failed', sums.failures)}>
          {formatCount(sums.failures)}
        </RequestsLink>
      </td>
      <td className={`number ${sums.partial > 0 ? 'text-warn' : 'text-dim'}`}>
        <RequestsLink span={span} filters={ofStatus('partial', sums.partial)}>
          {formatCount(sums.partial)}
        </RequestsLink>
      </td>
      <td className="number">
        <RequestsLink span={span} videos={share} filters={filters}>
          {formatShort(sums.input_tokens)}
        </RequestsLink>
      </td>
      <td className="number text-dim">
        <RequestsLink span={span} videos={share} filters={filters}>
          {formatShort(sums.cached_tokens)}
        </RequestsLink>
      </td>
      <td className="number">
        <RequestsLink span={span} videos={share} filters={filters}>
          {formatShort(sums.output_tokens)}
        </RequestsLink>
      </td>
      <td className="number">
        <RequestsLink span={span} videos={share} filters={filters}>
          <Money usd={sums.cost} />
        </RequestsLink>
        <CostMarks {...sums} />
      </td>
    </>
  );
}
