/** Which time of a period one of the period before stands beside, in months of different lengths and in zones. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UseDimension } from '../../src/usage/use-query.ts';
import { atTimesOf } from '../../src/usage/use-times.ts';

const HOUR_MS = 3_600_000;

type Case = [what: string, time: UseDimension, from: string, to: string, zone: string, pairs: Record<string, string>];

const CASES: Case[] = [
  // The 31 days before begin on January 29.
  [
    'a month after a shorter one',
    'month',
    '2026-03-01',
    '2026-04-01',
    'UTC',
    { '2026-01': '2026-03', '2026-02': '2026-03' },
  ],
  [
    'a quarter',
    'month',
    '2026-09-01',
    '2026-12-01',
    'UTC',
    { '2026-06': '2026-09', '2026-07': '2026-10', '2026-08': '2026-11' },
  ],
  ['a year', 'month', '2026-01-01', '2027-01-01', 'UTC', { '2025-01': '2026-01', '2025-12': '2026-12' }],
  ['a part of a month', 'month', '2026-11-10', '2026-11-27', 'UTC', { '2026-10': '2026-11', '2026-11': '2026-11' }],
  [
    'ten days by weeks',
    'week',
    '2026-11-16',
    '2026-11-26',
    'UTC',
    { '2026-11-02': '2026-11-16', '2026-11-09': '2026-11-23' },
  ],
  ['two weeks', 'week', '2026-11-16', '2026-11-30', 'UTC', { '2026-11-02': '2026-11-16', '2026-11-09': '2026-11-23' }],
  ['half a day', 'day', '2026-11-16T12:00Z', '2026-11-17', 'UTC', { '2026-11-16': '2026-11-16' }],
  // Its days are those of Berlin, the last one of 25 hours.
  [
    'days in a zone',
    'day',
    '2026-10-23T22:00Z',
    '2026-10-25T23:00Z',
    'Europe/Berlin',
    { '2026-10-22': '2026-10-24', '2026-10-23': '2026-10-25', '2026-10-21': '2026-10-24' },
  ],
  [
    'hours',
    'hour',
    '2026-11-16T12:00Z',
    '2026-11-16T18:00Z',
    'UTC',
    { '2026-11-16T06:00:00.000Z': '2026-11-16T12:00:00.000Z' },
  ],
];

for (const [what, time, from, to, zone, pairs] of CASES) {
  test(`${what}: ${Object.keys(pairs).join(', ')}`, () => {
    const hourOf = (text: string) => Date.parse(text) / HOUR_MS;
    const rows = Object.keys(pairs).map((name) => ({ [time]: name, requests: 1 }));
    const placed = atTimesOf({ from: hourOf(from), to: hourOf(to), unit: HOUR_MS, zone }, time, rows as never);
    assert.deepEqual(
      placed.map((row) => row[time]),
      Object.values(pairs),
    );
  });
}
