/** Idle timeout of a body stream. Time spent waiting for the reader does not count. */

import { FetchFailure } from '../../net/fetch-failure.ts';

export interface IdleWatch {
  /** Aborts with a `timeout` failure when no data arrives, or with the reason of the outer signal. */
  readonly signal: AbortSignal;
  /** Passes chunks through, and stops the timeout at the end. */
  pass(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  stop(): void;
}

/** Starts the timeout immediately. */
export function watchIdle(timeoutMs: number, outer?: AbortSignal): IdleWatch {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const start = () => {
    timer = setTimeout(() => controller.abort(new FetchFailure('timeout')), timeoutMs);
  };
  const stop = () => clearTimeout(timer);

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
