/** Subject: a program whose cost is measured, with the request that it gets for a workload. */

import type { Serializable } from 'node:child_process';
import type { Target } from '../load/connection.ts';
import type { Workload } from '../workload.ts';

export interface Subject {
  name: string;
  pid: number;
  /** Milliseconds from its start until it listens. */
  readyAfter: number;
  /** Requests that it has answered so far. */
  answered: number;
  /** Undefined where it cannot do this. */
  target(workload: Workload): Target | undefined;
  /** Asks the probe in the process. */
  probe?(question: string): Promise<Serializable>;
  stop(): Promise<void>;
}

/** Origins that subjects relay to. */
export interface Upstreams {
  /** Paths with `/instant/`: whole answers at once. */
  instant: string;
  /** All other paths: large requests and streams. */
  other: string;
  usesNginx: boolean;
  stop(): Promise<void>;
}

export const KEY = 'sk-bench-0123456789abcdef';
/** With limits and budgets that nothing reaches. */
export const LIMITED_KEY = 'sk-bench-limited-0123456789abcdef';
