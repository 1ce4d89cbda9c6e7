/** Calls to a database thread that wait for their results. */

import { type Clock, systemClock } from '../../core/clock.ts';
import { decodeFailure } from './failure.ts';
import type { OperationCall, OperationResult } from './group-commit.ts';

export interface PendingCalls {
  readonly size: number;
  /** Time of the last result, or of the first call after there were none. */
  readonly since: number;
  /** Sends a call; resolves with its result. */
  send(name: string, parameters: unknown, post: (call: OperationCall) => void): Promise<unknown>;
  settle(results: readonly OperationResult[]): void;
  /** Rejects all calls: the thread has ended. */
  reject(problem: Error): void;
}

interface Caller {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export function createPendingCalls(clock: Pick<Clock, 'monotonic'> = systemClock): PendingCalls {
  const callers = new Map<number, Caller>();
  let lastId = 0;
  let since = 0;
  return {
    get since() {
      return since;
    },
    get size() {
      return callers.size;
    },
    send(name, parameters, post) {
      lastId += 1;
      const id = lastId;
      return new Promise((resolve, reject) => {
        post({ id, name, parameters });
        if (callers.size === 0) since = clock.monotonic();
        callers.set(id, { resolve, reject });
      });
    },
    settle(results) {
      since = clock.monotonic();
      for (const result of results) {
        const caller = callers.get(result.id);
        callers.delete(result.id);
        if ('failure' in result) caller?.reject(decodeFailure(result.failure));
        else caller?.resolve(result.result);
      }
    },
    reject(problem) {
      for (const { reject } of callers.values()) reject(problem);
      callers.clear();
    },
  };
}
