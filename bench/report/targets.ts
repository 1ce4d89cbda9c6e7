/** Targets of the project, by row, subject and metric: ratios to nginx, or values. Those of other gateways are for runs that measured them. */

import type { Figure } from '../figure.ts';

interface Target {
  row: string;
  subject?: string;
  metric: string;
  /** Of `toNginx`, or else of the value. */
  toNginx?: number;
  value?: number;
  /** The value is to be at least so much. */
  least?: number;
}

export const TARGETS: readonly Target[] = [
  { row: 'passthrough', metric: 'cpu warm', toNginx: 5 },
  { row: 'passthrough', metric: 'cpu cold', toNginx: 8 },
  { row: 'passthrough', metric: 'cpu after 2 s', toNginx: 8 },
  { row: 'passthrough', metric: 'cpu warm by batched', value: 1.1 },
  { row: 'passthrough', subject: 'portkey', metric: 'cpu warm by strict', least: 6 },
  { row: 'passthrough', subject: 'litellm', metric: 'cpu warm by strict', least: 100 },
  { row: 'passthrough', metric: 'written', value: 2 },
  { row: 'patched', metric: 'cpu warm', toNginx: 6 },
  { row: 'messages-to-chat', metric: 'cpu warm', toNginx: 7.5 },
  { row: 'chat-to-messages', metric: 'cpu warm', toNginx: 7.5 },
  { row: '100kB', metric: 'cpu warm', toNginx: 5 },
  { row: '5MB', metric: 'cpu warm', toNginx: 3 },
  { row: '5MB', metric: 'longest block', value: 5 },
  { row: 'frame', metric: 'cpu warm', toNginx: 2 },
  { row: 'frame-translated', metric: 'cpu warm', toNginx: 2.5 },
  { row: 'rate-500', metric: 'p50', value: 6 },
  { row: 'rate-500', metric: 'p99', value: 10 },
  { row: 'saturation', metric: 'p50 by batched', value: 2 },
  { row: 'saturation', metric: 'p99 by batched', value: 2 },
  { row: 'memory', metric: 'idle', value: 110 },
  { row: 'memory', metric: 'after load', value: 200 },
  { row: 'streams', metric: 'each of 1000 to 5000', value: 30 },
  { row: 'start', metric: 'ready', value: 500 },
  { row: 'workers', subject: 'two workers', metric: 'rate by that of one', least: 1.7 },
  { row: 'workers', subject: 'two workers', metric: 'rate by that on one core', least: 1.7 },
  { row: 'postgres', subject: 'postgres', metric: 'server', value: 60 },
  { row: 'postgres', subject: 'postgres', metric: 'gateway by that with SQLite', value: 1.2 },
];

export type Verdict = 'met' | 'MISSED' | 'NOT JUDGED';

export interface JudgedTarget {
  /** Such as `≤ 5 x nginx`. */
  text: string;
  /** By the figure as the results file has it; not judged where a run without nginx lacks the ratio. */
  verdict: Verdict;
}

/** Undefined for a figure that has no target. */
export function targetOf(figure: Figure): JudgedTarget | undefined {
  const { row, subject, metric, value, unit, toNginx } = figure;
  const found = TARGETS.find(
    (target) => target.row === row && target.metric === metric && (target.subject ?? 'strict') === subject,
  );
  if (!found) return undefined;
  if (found.least !== undefined) return { text: `≥ ${found.least} ${unit}`, verdict: verdictOf(value >= found.least) };
  if (found.toNginx === undefined)
    return { text: `≤ ${found.value} ${unit}`, verdict: verdictOf(value <= (found.value ?? 0)) };
  const verdict = toNginx === undefined ? 'NOT JUDGED' : verdictOf(toNginx <= found.toNginx);
  return { text: `≤ ${found.toNginx} x nginx`, verdict };
}

function verdictOf(isMet: boolean): Verdict {
  return isMet ? 'met' : 'MISSED';
}
