/** What a request holds from its head to its end, such as a slot of its key and room for its body. */

import type { ServerResponse } from 'node:http';

export interface RequestHold {
  /** `release` is called once: when the request ends, also where the client goes away; at once where it has ended. */
  keep(release: () => void): void;
  /** Ends it before the client hears the end, so that its next request finds room. */
  release(): void;
}

export function createRequestHold(response: ServerResponse): RequestHold {
  const releases: (() => void)[] = [];
  let isOver = false;

  function release(): void {
    isOver = true;
    for (const one of releases.splice(0)) one();
  }

  return {
    keep(one) {
      if (isOver || response.destroyed) return one();
      if (releases.length === 0) response.once('close', release);
      releases.push(one);
    },
    release,
  };
}
