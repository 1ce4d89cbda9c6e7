/** Budgets as bars: what is spent, held by what runs, and left, and where the period leads. */

import { type Allotment, type Spending, type Spent, spentIn, type Use } from '../keys.ts';
import {
  FORECAST_RULE,
  forecastOf,
  PERIOD_LABELS,
  PERIODS,
  type Period,
  type SpentByPeriod,
  spanOfPeriod,
} from '../periods.ts';
import { gatewayNow } from '../times.ts';
import { CostMarks } from './cost-marks.tsx';
import { Money } from './numbers.tsx';
import { type FigureFilters, RequestsLink, type VideoShare } from './requests-link.tsx';
import { numbers, Table } from './table.tsx';

export interface BudgetUse extends Use {
  period: Period;
}

const HIGH = 0.8;

/** Those of a tag, or the effective ones of a key. */
export function budgetsOf({ budgets }: Pick<Allotment, 'budgets'>): BudgetUse[] {
  return PERIODS.flatMap((period) => {
    const use = budgets[period];
    return use ? [{ period, ...use }] : [];
  });
}

/** Numbers for lengths and forecasts. */
export function numbersOf(spent: Partial<Record<Period, string>>): SpentByPeriod {
  return Object.fromEntries(Object.entries(spent).map(([period, usd]) => [period, Number(usd)]));
}

interface BudgetsProps {
  uses: readonly BudgetUse[];
  /** Of all periods, where it is known. */
  spent?: Record<Period, string>;
  /** As cells of a list have them. */
  isSmall?: boolean;
  /** Of the requests that count in them. Absent where their reader may not see them. */
  filters?: FigureFilters | undefined;
}

export function Budgets({ uses, spent, isSmall = false, filters }: BudgetsProps) {
  const known = numbersOf({ ...Object.fromEntries(uses.map((use) => [use.period, use.spent])), ...spent });
  if (uses.length === 0) return <span className="text-dim">{isSmall ? 'none' : 'No budget.'}</span>;
  return (
    <div className={`flex flex-col ${isSmall ? 'gap-1.5 text-xs' : 'gap-3'}`}>
      {uses.map((use) => (
        <Bar
          key={use.period}
          {...{ use, isSmall, filters }}
          forecast={forecastOf(use.period, known, new Date(gatewayNow()))}
        />
      ))}
    </div>
  );
}

/** More than 1 is possible: what was admitted is charged, even beyond. */
function usedShare({ limit, spent, held }: BudgetUse): number {
  return Number(limit) > 0 ? (Number(spent) + Number(held)) / Number(limit) : 1;
}

interface BarProps {
  use: BudgetUse;
  /** USD at the end of the period. */
  forecast: number | undefined;
  isSmall: boolean;
  filters: FigureFilters | undefined;
}

function Bar({ use, forecast, isSmall, filters }: BarProps) {
  const { period, left, from } = use;
  // Numbers for lengths and percentages only; amounts are shown as they are.
  const [limit, spent, held] = [Number(use.limit), Number(use.spent), Number(use.held)];
  const isPart = !use.held_complete;
  const used = Math.min(1, usedShare(use));
  const spentShare = limit > 0 ? Math.min(1, spent / limit) : 1;
  const tone = used >= 1 ? 'fill-bad' : used > HIGH ? 'fill-warn' : 'fill-accent';
  const ahead = forecast !== undefined && limit > 0 ? forecast / limit : undefined;
  const facts = [
    `${Math.round(spentShare * 100)} % of the budget ${PERIOD_LABELS[period]} is spent`,
    ...(held > 0 ? [`${isPart ? 'at least ' : ''}${Math.round((used - spentShare) * 100)} % held by what runs`] : []),
    `${isPart ? 'at most ' : ''}$${left} left`,
    ...(ahead === undefined ? [] : [`${Math.round(ahead * 100)} % at this pace`]),
  ];
  return (
    <div>
      <div className={`flex flex-wrap justify-between gap-x-3 ${isSmall ? 'mb-0.5' : 'mb-1'}`}>
        <span className="text-dim">
          {PERIOD_LABELS[period]}
          {from === 'defaults' && ' (default)'}
        </span>
        <span>
          <SpentFigure {...{ period, filters }} sums={use} /> <span className="text-dim">of</span>{' '}
          <Money usd={use.limit} />
        </span>
      </div>
      <svg
        viewBox="0 0 100 6"
        preserveAspectRatio="none"
        className={`block w-full overflow-hidden rounded-full ${isSmall ? 'h-1' : 'h-1.5'}`}
        role="img"
        aria-label={facts.join(', ')}
      >
        <rect width="100" height="6" className="fill-line" />
        {ahead !== undefined && <rect y="2" width={Math.min(1, ahead) * 100} height="2" className="fill-faint" />}
        <rect width={used * 100} height="6" className={`${tone} opacity-50`} />
        <rect width={spentShare * 100} height="6" className={tone} />
      </svg>
      {!isSmall && (
        <p className="mt-1 text-xs text-dim">
          {isPart && 'at most '}
          <Money usd={left} /> left
          {(held > 0 || isPart) && (
            <>
              , {isPart && 'at least '}
              <Money usd={use.held} /> held
            </>
          )}
        </p>
      )}
      {ahead !== undefined && ahead > 1 && spentShare < 1 && (
        <p className="mt-1 text-xs text-warn" title={FORECAST_RULE}>
          {Math.round(ahead * 100)} % at this pace
        </p>
      )}
    </div>
  );
}

interface SpentFigureProps {
  period: Period;
  sums: Spent;
  /** Of the requests that it was spent for. Absent where their reader may not see them. */
  filters: FigureFilters | undefined;
}

/** Whether nothing is known of what was spent. */
export function isUnknown({ spent, unpriced_tokens: tokens }: Spent): boolean {
  return tokens > 0 && Number(spent) === 0;
}

/** Cost of a period, which leads to its requests or videos. */
export function SpentFigure({ period, sums, filters }: SpentFigureProps) {
  const cost = isUnknown(sums) ? null : sums.spent;
  return (
    <>
      <RequestsLink span={spanOfPeriod(period, new Date(gatewayNow()))} videos={videosOf(sums)} filters={filters}>
        <Money usd={cost} />
      </RequestsLink>
      <CostMarks {...{ cost }} estimated_cost={sums.spent_estimated} unpriced_tokens={sums.unpriced_tokens} />
    </>
  );
}

/** By what they cost. */
function videosOf({ spent, spent_videos: ofVideos }: Spent): VideoShare {
  if (Number(ofVideos) === 0) return 'none';
  return ofVideos === spent ? 'all' : 'some';
}

interface SpendingTableProps {
  spending: Spending;
  filters: FigureFilters;
}

/** Spending of every period, and at its end if it goes on as it does. */
export function SpendingTable({ spending, filters }: SpendingTableProps) {
  const now = new Date(gatewayNow());
  const spent = numbersOf(spending.spent);
  return (
    <Table label="Spent" className="border" columns={['Spent', numbers('So far'), numbers('Forecast')]}>
      {PERIODS.map((period) => (
        <tr key={period}>
          <td className="text-dim">{PERIOD_LABELS[period]}</td>
          <td className="number">
            <SpentFigure {...{ period, filters }} sums={spentIn(period, spending)} />
          </td>
          <td className="number">
            <Forecast usd={isUnknown(spentIn(period, spending)) ? undefined : forecastOf(period, spent, now)} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** To the cent: it is an estimate. */
export function Forecast({ usd }: { usd: number | undefined }) {
  if (usd === undefined) return <span className="text-dim">—</span>;
  return (
    <span className="tabular-nums" title={FORECAST_RULE}>
      <span className="text-dim">≈ </span>$
      {usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}
    </span>
  );
}
