/** What goes wrong in the embedded engine, and how it crosses from its thread. */

import { type ErrorCode, GatewayError } from '../../core/errors.ts';
import { StoreUnavailable } from '../unavailable.ts';

/** An error as a message between threads. */
export type ThreadFailure =
  | { kind: 'refused'; code: ErrorCode; message: string; param?: string; retryAfter?: number }
  | { kind: 'unavailable'; problem: string }
  | { kind: 'defect'; message: string; stack?: string };

/** SQLite's primary result codes that say something about the machine and not about the statement. */
const OF_THE_MACHINE = new Map([
  [3, 'the file may not be used'],
  [5, 'another process holds the lock'],
  [6, 'another connection holds the lock'],
  [7, 'memory is used up'],
  [8, 'the file is read-only'],
  [10, 'the disk failed'],
  [11, 'the file is damaged'],
  [13, 'the disk is full'],
  [14, 'the file cannot be opened'],
  [15, 'another process holds the lock'],
  [23, 'the file may not be used'],
  [26, 'the file is no database'],
]);

/** An error of the engine, as `StoreUnavailable` where the machine is to blame. */
export function engineError(error: unknown): unknown {
  const { errcode } = error as { errcode?: number };
  const words = errcode === undefined ? undefined : OF_THE_MACHINE.get(errcode & 0xff);
  return words === undefined ? error : new StoreUnavailable(`${words} (${(error as Error).message})`, error);
}

export function encodeFailure(error: unknown): ThreadFailure {
  if (error instanceof StoreUnavailable) return { kind: 'unavailable', problem: error.problem };
  if (error instanceof GatewayError) {
    const { code, message, param, retryAfter } = error;
    return { kind: 'refused', code, message, param, retryAfter };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { kind: 'defect', message, stack };
}

export function decodeFailure(failure: ThreadFailure): Error {
  switch (failure.kind) {
    case 'refused':
      return new GatewayError(failure.code, failure.message, failure);
    case 'unavailable':
      return new StoreUnavailable(failure.problem);
    case 'defect': {
      const error = new Error(failure.message);
      if (failure.stack !== undefined) error.stack = failure.stack;
      return error;
    }
  }
}
