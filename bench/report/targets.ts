/** Targets of the project, by row, subject and metric: ratios to nginx, or values. */

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

const TARGETS: readonly Target[] = [
  { row: 'passthrough', metric: 'cpu warm', toNginx: 5 },
  { row: 'passthrough', metric: 'cpu cold', toNginx: 8 },
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
  { row: 'memory', metric: 'idle', value: 110 },
  { row: 'memory', metric: 'after load', value: 200 },
  { row: 'streams', metric: 'each of 1000 to 5000', value: 30 },
  { row: 'start', metric: 'ready', value: 500 },
  { row: 'workers', subject: 'two workers', metric: 'rate by that of one', least: 1.7 },
  { row: 'postgres', subject: 'postgres', metric: 'server', value: 60 },
  { row: 'postgres', subject: 'postgres', metric: 'gateway by that with SQLite', value: 1.2 },
];

/** In words, such as `≤ 5 x nginx`; empty where nothing is aimed at. */
export function targetOf({ row, subject, metric, unit }: Figure): string {
  const found = TARGETS.find(
    (target) => target.row === row && target.metric === metric && (target.subject ?? 'strict') === subject,
  );
  if (!found) return '';
  if (found.least !== undefined) return `≥ ${found.least} ${unit}`;
  return found.toNginx === undefined ? `≤ ${found.value} ${unit}` : `≤ ${found.toNginx} x nginx`;
}
