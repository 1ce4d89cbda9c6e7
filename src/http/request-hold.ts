/** Request hold: resources of a request that are released at its end, such as a concurrency slot and body memory. */

import type { ResponseState } from './response-state.ts';

export interface RequestHold {
  /** `release` is called once: at the end of the request or when the client disconnects; immediately if it has ended. */
  keep(release: () => void): void;
  /** Releases everything before the client receives the end, so that its next request is not refused. */
  release(): void;
}

export function createRequestHold(response: ResponseState): RequestHold {
  let releases: (() => void)[] = [];
  let isOver = false;

  function release(): void {
    isOver = true;
    const held = releases;
    releases = [];
    for (const one of held) one();
  }

  return {
    keep(one) {
      if (isOver || response.destroyed) return one();
      if (releases.length === 0) response.on('close', release);
      releases.push(one);
    },
    release,
  };
}
