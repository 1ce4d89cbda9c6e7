/**
 * The clock of the database server, which all gateways on it share. Between two readings a monotonic clock continues it, so
 * that setting this machine's clock moves no lease, window or heartbeat.
 */

export interface ServerClock {
  /** Unix milliseconds. */
  now(): number;
  /** Reads the server's clock. */
  synchronise(): Promise<void>;
  close(): void;
}

const INTERVAL_MS = 30_000;
/** After a reading that failed. */
const RETRY_MS = 1_000;
/** Difference between this machine's clock and its monotonic clock that shows a set clock or a suspended machine. */
const JUMP_MS = 1_000;

export function createServerClock(read: () => Promise<number>): ServerClock {
  /** The server's time, and this machine's, when the monotonic clock was at 0. */
  let serverOrigin = performance.timeOrigin;
  let wallOrigin = performance.timeOrigin;
  let reading: Promise<void> | undefined;
  let closed = false;

  async function readOnce(): Promise<void> {
    const before = performance.now();
    wallOrigin = Date.now() - before;
    const server = await read();
    serverOrigin = server - (before + performance.now()) / 2;
  }

  function synchronise(): Promise<void> {
    reading ??= readOnce().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  let timer = setTimeout(follow, INTERVAL_MS).unref();
  function follow(): void {
    const again = (milliseconds: number) => () => {
      clearTimeout(timer);
      if (!closed) timer = setTimeout(follow, milliseconds).unref();
    };
    synchronise().then(again(INTERVAL_MS), again(RETRY_MS));
  }

  return {
    now() {
      if (Math.abs(Date.now() - performance.now() - wallOrigin) > JUMP_MS) follow();
      return Math.round(serverOrigin + performance.now());
    },
    synchronise,
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
