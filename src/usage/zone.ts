/** Offsets of a named time zone, by which hours belong to its days. */

import { GatewayError } from '../core/errors.ts';
import type { Store } from '../store/store.ts';
import { firstHour } from '../store/sum-source.ts';

/** An offset from an hour since 1970 on, until the next one. */
export interface ZoneOffset {
  fromHour: number;
  minutes: number;
}

const HOUR_MS = 3_600_000;
/** Changes of an offset are further apart. */
const STEP_HOURS = 7 * 24;
const UTC = 'UTC';

/** Throws `invalid_request` for an unknown zone. */
export function readZone(name: string | null): string {
  if (name === null) return UTC;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    const message = 'zone must be the name of a time zone such as UTC or Europe/Berlin.';
    throw new GatewayError('invalid_request', message, { param: 'zone' });
  }
}

/** Offsets in a span of hours, in order; work is bounded by the length of the span. */
export function zoneOffsets(zone: string, from: number, to: number): ZoneOffset[] {
  const offsetAt = createOffsets(zone);
  const offsets = [{ fromHour: from, minutes: offsetAt(from) }];
  if (zone === UTC) return offsets;
  for (let hour = from; hour < to; hour += STEP_HOURS) {
    let [same, changed] = [hour, Math.min(hour + STEP_HOURS, to)];
    if (offsetAt(same) === offsetAt(changed)) continue;
    while (changed - same > 1) {
      const middle = Math.floor((same + changed) / 2);
      if (offsetAt(middle) === offsetAt(same)) same = middle;
      else changed = middle;
    }
    offsets.push({ fromHour: changed, minutes: offsetAt(changed) });
  }
  return offsets;
}

/** Lets the days of a zone be summed up from now on. */
export async function noteZones(
  store: Pick<Store, 'call'>,
  offsets: readonly ZoneOffset[],
  now: number,
): Promise<void> {
  const firstHours = [...new Set(offsets.map(({ minutes }) => firstHour(minutes)))].filter((hour) => hour !== 0);
  // Without the note the report is slower, but no less right.
  if (firstHours.length > 0) await store.call('noteZones', { firstHours, now }).catch(() => undefined);
}

function createOffsets(zone: string): (hour: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  return (hour) => {
    const parts = new Map(format.formatToParts(hour * HOUR_MS).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
    const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
    return (local - hour * HOUR_MS) / 60_000;
  };
}
