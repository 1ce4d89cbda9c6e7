/** Numbers, money and times in one form everywhere. */

import { useContext } from 'react';
import { gatewayNow } from '../times.ts';
import { TimeZone } from './clock-time.tsx';

const whole = new Intl.NumberFormat('en-US');
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

export const formatCount = (count: number): string => whole.format(count);
export const formatShort = (count: number): string => (count < 100_000 ? whole.format(count) : short.format(count));

export function formatMs(ms: number): string {
  return ms < 10_000 ? `${formatCount(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/**
 * Share of a whole in percent. There is none of nothing, a small part is not shown as none, and what is nearly the whole not as
 * all of it.
 */
export function formatShare(part: number, whole: number): string {
  if (whole <= 0) return '—';
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.1) return '< 0.1 %';
  if (share > 99.9 && share < 100) return '> 99.9 %';
  return `${share.toFixed(Number.isInteger(share) || (share >= 10 && share <= 90) ? 0 : 1)} %`;
}

const BYTES = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

export function formatBytes(bytes: number): string {
  const power = Math.min(BYTES.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const unit = BYTES[power] ?? 'byte';
  const options = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: power > 1 ? 1 : 0 } as const;
  return new Intl.NumberFormat('en-US', options).format(bytes / 1000 ** power);
}

/** Digits behind the point that are always shown. */
const CENTS = 2;
/** Numbers of digits behind the point, so that the points of a column stand below each other. */
const DIGITS = [CENTS, 8, 12];

/** USD, exact to the last digit; digits behind the cents are dimmed. */
export function Money({ usd }: { usd: string | number | null | undefined }) {
  if (usd === null || usd === undefined) return <span className="text-dim">unknown</span>;
  const [dollars = '0', digits = ''] = plainDecimal(usd).split('.');
  const fraction = digits.padEnd(DIGITS.find((count) => digits.length <= count) ?? 0, '0');
  return (
    <span className="tabular-nums">
      ${whole.format(BigInt(dollars))}.{fraction.slice(0, CENTS)}
      {fraction.length > CENTS && <span className="text-faint">{fraction.slice(CENTS)}</span>}
    </span>
  );
}

/** Form of USD with so many digits behind the point, for charts. */
export function dollars(digits: number): (usd: number) => string {
  const form = new Intl.NumberFormat('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (usd) => `$${form.format(usd)}`;
}

/** A decimal without an exponent. */
export function plainDecimal(value: string | number): string {
  if (typeof value === 'string') return value;
  const text = String(value);
  return text.includes('e') ? value.toFixed(12).replace(/0+$/, '').replace(/\.$/, '') : text;
}

/** Price of a token as that of a million. A negative one stands for a price that is not known. */
export function PerMillion({ perToken }: { perToken: string | undefined }) {
  const price = Number(perToken ?? -1) * 1e6;
  if (price < 0) return <span className="text-dim">unknown</span>;
  return <span>${price.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 4 })}</span>;
}

const formats = new Map<string | undefined, ReturnType<typeof createFormats>>();

function createFormats(timeZone: string | undefined) {
  const clock = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  return {
    time: new Intl.DateTimeFormat(undefined, { ...clock, second: '2-digit' }),
    dateAndTime: new Intl.DateTimeFormat(undefined, { ...clock, month: 'short', day: 'numeric' }),
    yearAndTime: new Intl.DateTimeFormat(undefined, { ...clock, year: 'numeric', month: 'short', day: 'numeric' }),
    date: new Intl.DateTimeFormat('en', { timeZone, dateStyle: 'short' }),
  };
}

function formatsOf(zone: string | undefined) {
  const known = formats.get(zone) ?? createFormats(zone);
  formats.set(zone, known);
  return known;
}

/** With the year where that is not this one; without the date for a moment of today, where `withDate` is false. */
export function Time({ at, withDate = true }: { at: string; withDate?: boolean }) {
  const { time, dateAndTime, yearAndTime, date: dayOf } = formatsOf(useContext(TimeZone));
  const date = new Date(at);
  const [day, today] = [dayOf.format(date), dayOf.format(gatewayNow())];
  const isThisYear = day.slice(-2) === today.slice(-2);
  return (
    <time dateTime={at} title={date.toISOString()}>
      {(!withDate && day === today ? time : isThisYear ? dateAndTime : yearAndTime).format(date)}
    </time>
  );
}

const ago = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const;

/** Time since a moment, in its largest unit. */
export function Age({ at }: { at: number }) {
  const since = at - gatewayNow();
  const [unit, size] = UNITS.find(([, ms]) => Math.abs(since) >= ms) ?? ['second', 1000];
  return (
    <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()} className="text-dim">
      {ago.format(Math.round(since / size), unit)}
    </time>
  );
}
