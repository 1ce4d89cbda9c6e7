/** A reply whose first byte waits until it is opened. */

import type { Reply } from './call.ts';

/** Bytes that may wait before the upstream is asked to wait too. */
const ENOUGH = 64 * 1024;

export interface HeldReply extends Reply {
  /** What was held is written, and what comes from now on at once. */
  open(): void;
}

export function createHeldReply(reply: Reply): HeldReply {
  let waiting: ((reply: Reply) => void)[] | undefined = [];
  let bytes = 0;
  let drained = (): void => undefined;
  reply.onDrain(() => drained());

  function pass(write: (reply: Reply) => void, length = 0): void {
    bytes += length;
    if (waiting) waiting.push(write);
    else write(reply);
  }

  return {
    head: (status, headers) => pass((to) => to.head(status, headers)),
    write: (chunk) => pass((to) => to.write(chunk), chunk.length),
    end: (chunk, trailers) => pass((to) => to.end(chunk, trailers)),
    get full() {
      return waiting ? bytes > ENOUGH : reply.full;
    },
    onDrain(listener) {
      drained = listener;
    },
    onClose: (listener) => reply.onClose(listener),
    open() {
      const held = waiting ?? [];
      waiting = undefined;
      for (const write of held) write(reply);
      if (!reply.full) drained();
    },
  };
}
