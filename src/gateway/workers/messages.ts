/** Calls between the primary and its workers, and their parameters. */

import type { RunningGateway } from '../gateway.ts';

/** Message of the primary to a worker that starts. */
export interface WorkerStart {
  /** Number of the worker, from 1; a restarted worker keeps its number. */
  number: number;
  /** Number of workers. */
  count: number;
  /** Instance id in the store. */
  instance: string;
  /** Text of the configuration file when the primary started. */
  text: string;
  /** Text of the configuration in use, if it is another. */
  reloaded?: string;
  /** Port instead of that of the configuration. */
  port?: number;
}

/** An operation of the embedded store. */
export interface StoreCall {
  name: string;
  parameters: unknown;
}

/** A call that counts in a rate of all workers. */
export interface RateCall {
  rate: { name: string; perSecond: number; burst: number };
  caller: string;
}

/** Message of a worker that listens. */
export interface WorkerListens {
  address: RunningGateway['address'];
}
