/** Processes of a gateway: one alone, or a primary and its workers. */

import type { AskedCapture } from '../http/captures.ts';
import type { CreateSharedRate } from '../http/rate.ts';
import type { OpenCircuit } from '../routing/circuit-breaker.ts';
import type { IntentFilter } from '../store/operations/requests.ts';

/** One of the processes of a gateway. */
export type GatewayProcess = PrimaryProcess | WorkerProcess;

/** Owns the store and runs jobs and the admin API; answers no clients. */
export interface PrimaryProcess {
  role: 'primary';
  /** Instance id in the store. */
  instance: string;
  /** Stores the pending records of the workers. */
  flushOthers(): Promise<void>;
  /** A capture of a worker, as JSON text. */
  findCapture(asked: AskedCapture): Promise<string | undefined>;
  /** Number of requests that run in the workers. */
  countRunning(filter: IntentFilter): Promise<number>;
}

/** Answers clients. */
export interface WorkerProcess {
  role: 'worker';
  /** Instance id in the store. */
  instance: string;
  /** Number of workers. */
  count: number;
  flushOthers(): Promise<void>;
  /** A capture of any worker, as JSON text. */
  findCapture(asked: AskedCapture): Promise<string | undefined>;
  /** Number of requests that run in all workers. */
  countRunning(filter: IntentFilter): Promise<number>;
  /** Tells the primary that a job is due. */
  wake(kind: string): void;
  /** Tells the other workers that a circuit has opened. */
  shareCooldown(circuit: OpenCircuit): void;
  createRate: CreateSharedRate;
  /** Sums of the metrics of all processes. */
  metricsText(): Promise<string>;
}
