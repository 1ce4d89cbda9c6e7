/** Row of the benchmark: what it measures, and what it needs from a run. */

import { type Figure, figure } from '../figure.ts';
import type { Target } from '../load/connection.ts';
import type { Cost } from '../measure.ts';
import type { Subject, Upstreams } from '../subjects/subject.ts';
import { passthrough, type Workload } from '../workload.ts';

export interface Row {
  id: string;
  title: string;
  /** Only with `--long`. */
  isLong?: boolean;
  run(run: Run): Promise<Figure[]>;
}

/** What rows share: references and gateways that stay warm from row to row. */
export interface Run {
  upstreams: Upstreams;
  /** nginx, where it is installed, and the bare relay. */
  references: readonly Subject[];
  strict: Subject;
  /** Another checkout, where one is compared. */
  against: readonly Subject[];
  /** Starts at the first use. */
  batched(): Promise<Subject>;
  /** Other gateways that are installed; each process serves one workload. */
  peers: readonly { name: string; start(workload: Workload): Promise<Subject> }[];
  /** Shortens times, rounds and counts: 1, or less with `--quick`. */
  scale: number;
  say(text: string): void;
}

/** The other gateways that run here; one that does not is named in the progress. */
export async function startPeers(run: Run, workload: Workload): Promise<Subject[]> {
  const started: Subject[] = [];
  for (const { name, start } of run.peers) {
    try {
      started.push(await start(workload));
    } catch (error) {
      run.say(`${name} does not run: ${(error as Error).message}`);
    }
  }
  return started;
}

export function costFigures(row: string, metric: string, costs: readonly Cost[], divisor = 1): Figure[] {
  return costs.map(({ entry, cpu, toNginx, toBare, answersPerSecond, warmth, failure }) =>
    figure({
      ...{ row, subject: entry.subject.name, metric, value: cpu / divisor, unit: 'us', toNginx, toBare },
      ...{ answersPerSecond, after: warmth, note: failure },
    }),
  );
}

/** Measures windows of passthrough in rounds, in which subjects alternate. */
export async function alternateInRounds<Window>(
  run: Run,
  { subjects, rounds }: { subjects: readonly Subject[]; rounds: number },
  measure: (subject: Subject, target: Target) => Promise<Window>,
): Promise<Map<Subject, Window[]>> {
  const windows = new Map<Subject, Window[]>(subjects.map((subject) => [subject, []]));
  const count = Math.max(1, Math.round(rounds * run.scale));
  for (let round = 0; round < count; round++) {
    for (const subject of subjects) {
      run.say(`${subject.name}, round ${round + 1} of ${count}`);
      const target = subject.target(passthrough);
      if (target) windows.get(subject)?.push(await measure(subject, target));
    }
  }
  return windows;
}
