/**
 * The clock of the database server, which all gateways on it share. Between two readings a monotonic clock continues it, so
 * that setting this machine's clock moves no lease, window or heartbeat.
 *
 * A reading was taken somewhere between the query and its result. The clock counts it as taken at the result, and keeps
 * the reading that came fastest: so it is never ahead of the server, and behind it by one round trip at most. No
 * gateway does anything early, however long its queries take.
 */

import type { Clock } from '../../core/clock.ts';

export interface ServerClock {
  /** Unix milliseconds: the server's time, or up to a round trip before it. */
  now(): number;
  /** Reads the server's clock. */
  synchronise(): Promise<void>;
  close(): void;
}

const INTERVAL_MS = 30_000;
/** Interval after a failed reading. */
const RETRY_MS = 1_000;
/** Difference between this machine's clock and its monotonic clock that shows a set clock or a suspended machine. */
const JUMP_MS = 1_000;

/** `read` resolves to the server's time in whole Unix milliseconds, rounded down. */
export function createServerClock(read: () => Promise<number>, clock: Clock): ServerClock {
  const { now, monotonic } = clock;
  /** The server's time, and this machine's, when the monotonic clock was at 0. */
  let serverOrigin = Number.NEGATIVE_INFINITY;
  let wallOrigin = now() - monotonic();
  let reading: Promise<void> | undefined;
  let closed = false;

  async function readOnce(): Promise<void> {
    const asked = monotonic();
    const isSet = Math.abs(now() - asked - wallOrigin) > JUMP_MS;
    wallOrigin = now() - asked;
    const server = await read();
    const earliest = server - monotonic();
    const latest = server + 1 - asked;
    // Outside of this range the earlier reading is wrong: the server's clock was set, or this machine slept.
    if (isSet || serverOrigin < earliest || serverOrigin > latest) serverOrigin = earliest;
  }

  function synchronise(): Promise<void> {
    reading ??= readOnce().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  let cancel = schedule(INTERVAL_MS);
  function schedule(milliseconds: number): () => void {
    return clock.after(milliseconds, follow);
  }

  function follow(): void {
    const again = (milliseconds: number) => () => {
      cancel();
      if (!closed) cancel = schedule(milliseconds);
    };
    synchronise().then(again(INTERVAL_MS), again(RETRY_MS));
  }

  return {
    now() {
      if (Math.abs(now() - monotonic() - wallOrigin) > JUMP_MS) follow();
      return Math.floor(serverOrigin + monotonic());
    },
    synchronise,
    close() {
      closed = true;
      cancel();
    },
  };
}
