/** Idle timeout of a body stream. Time spent waiting for the reader does not count. */

import type { Clock } from '../../core/clock.ts';
import { FetchFailure } from '../../net/fetch-failure.ts';

export interface IdleWatch {
  /** Aborts with a `timeout` failure when no data arrives, or with the reason of the outer signal. */
  readonly signal: AbortSignal;
  /** Passes chunks through, and stops the timeout at the end. */
  pass(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  stop(): void;
}

/** Starts the timeout immediately. */
export function watchIdle(clock: Pick<Clock, 'after'>, timeoutMs: number, outer?: AbortSignal): IdleWatch {
  const controller = new AbortController();
  let cancel: (() => void) | undefined;
  const start = () => {
    cancel = clock.after(timeoutMs, () => controller.abort(new FetchFailure('timeout')));
  };
  const stop = () => cancel?.();

  async function* pass(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of body) {
        stop();
        yield chunk;
        start();
      }
    } finally {
      stop();
    }
  }

  start();
  return { signal: outer ? AbortSignal.any([controller.signal, outer]) : controller.signal, pass, stop };
}
