/** Budgets of a key as bars: spent, left, and where the month leads. */

import type { Period } from '../keys.ts';
import { Money } from './numbers.tsx';

interface Budgeted {
  budgets: Partial<Record<Period, string>>;
  usage: number;
  usage_daily: number;
  usage_weekly: number;
  usage_monthly: number;
}

const PERIODS: Record<Period, { label: string; spent: keyof Budgeted & `usage${string}` }> = {
  day: { label: 'today', spent: 'usage_daily' },
  week: { label: 'this week', spent: 'usage_weekly' },
  month: { label: 'this month', spent: 'usage_monthly' },
  total: { label: 'in all', spent: 'usage' },
};

const HIGH = 0.8;
/** Earlier in a month, one day decides too much. */
const FORECAST_FROM = 0.1;

export function Budgets({ view, short = false }: { view: Budgeted; short?: boolean }) {
  const budgets = Object.entries(view.budgets) as [Period, string][];
  if (budgets.length === 0) return <span className="text-dim">{short ? 'none' : 'No budget.'}</span>;
  const shown = short ? [tightest(view, budgets)] : budgets;
  return (
    <div className="flex flex-col gap-3">
      {shown.map(([period, budget]) => (
        <Bar
          key={period}
          period={period}
          spent={view[PERIODS[period].spent]}
          budget={Number(budget)}
          forecast={period === 'month' ? forecastOf(view.usage_monthly, new Date()) : undefined}
        />
      ))}
    </div>
  );
}

function tightest(view: Budgeted, budgets: [Period, string][]): [Period, string] {
  const shareOf = ([period, budget]: [Period, string]) => view[PERIODS[period].spent] / Number(budget);
  return budgets.toSorted((one, other) => shareOf(other) - shareOf(one))[0] as [Period, string];
}

/** Spending at the end of the month if it goes on as it does. */
function forecastOf(spent: number, now: Date): number | undefined {
  const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const passed = (now.getTime() - start) / (end - start);
  return passed < FORECAST_FROM ? undefined : spent / passed;
}

interface BarProps {
  period: Period;
  spent: number;
  budget: number;
  forecast: number | undefined;
}

function Bar({ period, spent, budget, forecast }: BarProps) {
  const share = budget > 0 ? Math.min(1, spent / budget) : 1;
  const tone = share >= 1 ? 'fill-bad' : share > HIGH ? 'fill-warn' : 'fill-accent';
  const ahead = forecast !== undefined && budget > 0 ? Math.min(1, forecast / budget) : undefined;
  return (
    <div>
      <div className="mb-1 flex flex-wrap justify-between gap-x-3">
        <span className="text-dim">{PERIODS[period].label}</span>
        <span>
          <Money usd={spent} /> <span className="text-dim">of</span> <Money usd={budget} />
        </span>
      </div>
      <svg
        viewBox="0 0 100 6"
        preserveAspectRatio="none"
        className="block h-1.5 w-full overflow-hidden rounded-full"
        role="img"
        aria-label={`${Math.round(share * 100)} % of the budget ${PERIODS[period].label} is spent${
          ahead === undefined ? '' : `, ${Math.round((100 * (forecast ?? 0)) / budget)} % at this pace`
        }`}
      >
        <rect width="100" height="6" className="fill-line" />
        {ahead !== undefined && <rect y="2" width={ahead * 100} height="2" className="fill-faint" />}
        <rect width={share * 100} height="6" className={tone} />
      </svg>
    </div>
  );
}
