/** Durations, dates and sizes: parsing and formatting. */

import { momentOf } from '../core/clock.ts';

const MILLISECONDS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const BYTES: Record<string, number> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Milliseconds of e.g. `90s` or `30d`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  return amount(text, MILLISECONDS);
}

/** Bytes of e.g. `20MiB`; undefined for anything else. */
export function parseSize(text: string): number | undefined {
  return amount(text, BYTES);
}

/** Unix milliseconds of an ISO date or time; undefined for anything else. A date alone means midnight UTC. */
export function parseMoment(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text)) return undefined;
  const moment = momentOf(text);
  return Number.isNaN(moment) ? undefined : moment;
}

/** The shortest spelling that `parseDuration` reads as the same value; one day is 24h. */
export function formatDuration(milliseconds: number): string {
  for (const unit of ['d', 'h', 'm', 's']) {
    const size = MILLISECONDS[unit] as number;
    const least = unit === 'd' ? 2 * size : size;
    if (milliseconds >= least && milliseconds % size === 0) return `${milliseconds / size}${unit}`;
  }
  return `${milliseconds}ms`;
}

/** Size in the largest of KiB, MiB and GiB that gives a whole number; `bytes` is a multiple of 1024. */
export function formatSize(bytes: number): string {
  const unit = ['GiB', 'MiB'].find((name) => bytes % (BYTES[name] as number) === 0) ?? 'KiB';
  return `${bytes / (BYTES[unit] as number)}${unit}`;
}

function amount(text: string, units: Record<string, number>): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,7})([A-Za-z]+)$/.exec(text) ?? [];
  return digits === undefined || !Object.hasOwn(units, unit) ? undefined : Number(digits) * (units[unit] as number);
}
