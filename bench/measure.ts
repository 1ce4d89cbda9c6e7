/** Processor time of a subject per answer: in windows that alternate between subjects, so that ratios hold on a busy machine. */

import { processorTime } from './host/proc.ts';
import { type ClosedLoopOptions, closedLoop } from './load/closed-loop.ts';
import type { Target } from './load/connection.ts';
import type { Subject } from './subjects/subject.ts';
import type { Workload } from './workload.ts';

/** A program is warm after so many answers of a row, or after as many as this time allows. */
export const WARM = { requests: 40_000, seconds: 20 };

/** nginx is machine code from its start. */
export const needsWarmUp = ({ subject }: Entry): boolean => subject.name !== 'nginx';

export interface Entry {
  subject: Subject;
  workload: Workload;
  /** Called around each window. */
  onWindow?: { begin(): Promise<void>; end(): Promise<void> };
}

export interface Cost {
  entry: Entry;
  /** Microseconds per answer: the median of the windows. */
  cpu: number;
  /** Medians of the ratios to these subjects in the same round. */
  toNginx?: number;
  toBare?: number;
  answersPerSecond: number;
  /** Requests that the subject had answered before the first window. */
  warmth: number;
  failure?: string;
}

export interface Window {
  cpu: number;
  rate: number;
  ok: number;
}

export interface AlternationOptions extends ClosedLoopOptions {
  rounds: number;
  /** Requests of a window, where entries differ. */
  requestsOf?: (entry: Entry) => number;
}

/** A window in which it did not answer, or only with errors, is `undefined`. */
export async function measureWindow(
  subject: Subject,
  target: Target,
  load: ClosedLoopOptions,
): Promise<Window | undefined> {
  const before = processorTime(subject.pid);
  const answers = await closedLoop(target, load);
  subject.answered += answers.ok;
  if (answers.ok === 0 || answers.failed > 0) return undefined;
  return {
    cpu: (processorTime(subject.pid) - before) / answers.ok,
    rate: answers.ok / answers.seconds,
    ok: answers.ok,
  };
}

export async function alternate(entries: readonly Entry[], options: AlternationOptions): Promise<Cost[]> {
  const { rounds, requestsOf, ...load } = options;
  const windows = new Map(entries.map((entry) => [entry, [] as (Window | undefined)[]]));
  const began = new Map(entries.map((entry) => [entry, entry.subject.answered]));
  for (let round = 0; round < rounds; round++) {
    for (const entry of entries) {
      const target = entry.subject.target(entry.workload);
      await entry.onWindow?.begin();
      const own = requestsOf ? { ...load, requests: requestsOf(entry) } : load;
      windows.get(entry)?.push(target && (await measureWindow(entry.subject, target, own)));
      await entry.onWindow?.end();
    }
  }
  const of = (name: string) => windows.get(entries.find(({ subject }) => subject.name === name) as Entry);
  const ratio = (own: readonly (Window | undefined)[], reference: readonly (Window | undefined)[] | undefined) =>
    reference && median(own.flatMap((window, round) => quotient(window?.cpu, reference[round]?.cpu)));
  return entries.map((entry) => {
    const own = windows.get(entry) ?? [];
    const good = own.filter((window) => window !== undefined);
    return {
      entry,
      cpu: median(good.map(({ cpu }) => cpu)),
      toNginx: ratio(own, of('nginx')),
      toBare: ratio(own, of('bare')),
      answersPerSecond: median(good.map(({ rate }) => rate)),
      warmth: began.get(entry) ?? 0,
      ...(good.length < own.length && { failure: `${own.length - good.length} of ${own.length} windows failed` }),
    };
  });
}

/** Requests until it is warm, or until the time is over. */
export async function warmUp({ subject, workload }: Entry, load: ClosedLoopOptions): Promise<void> {
  const target = subject.target(workload);
  if (target) subject.answered += (await closedLoop(target, load)).ok;
}

/** Warms up those that have not answered so many requests yet. */
export async function warmTo(
  count: number,
  entries: readonly Entry[],
  load: { connections: number; seconds: number },
): Promise<void> {
  for (const entry of entries) {
    const missing = count - entry.subject.answered;
    if (missing > 0) await warmUp(entry, { ...load, requests: missing });
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

function quotient(one: number | undefined, other: number | undefined): number[] {
  return one === undefined || other === undefined || other === 0 ? [] : [one / other];
}
