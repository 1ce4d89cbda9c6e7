/** Classification of SQLite errors, and their transfer between threads. */

import { type ErrorCode, GatewayError } from '../../core/errors.ts';
import { StoreUnavailable } from '../unavailable.ts';

/** An error as a message between threads. */
export type ThreadFailure =
  | { kind: 'refused'; code: ErrorCode; message: string; param?: string; retryAfter?: number }
  | { kind: 'unavailable'; problem: string }
  | { kind: 'defect'; message: string; stack?: string };

/** SQLite result codes of errors in the environment, not in the statement. */
const ENVIRONMENT_ERRORS = new Map([
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

/** Maps errors of the environment to `StoreUnavailable`. */
export function toStoreError(error: unknown): unknown {
  const { errcode } = error as { errcode?: number };
  const description = errcode === undefined ? undefined : ENVIRONMENT_ERRORS.get(errcode & 0xff);
  return description === undefined
    ? error
    : new StoreUnavailable(`${description} (${(error as Error).message})`, error);
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
