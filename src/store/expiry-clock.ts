/** Clock by which stored data expire: it does not follow a clock that jumps ahead at once. */

import type { Logger } from 'pino';
import { type Clock, EARLIEST_TIME_MS } from '../core/clock.ts';
import type { Store } from './store.ts';

/** Speed of the clock of expiry, as a multiple of that of time, while it catches up with a clock that is ahead of it. */
const EXPIRY_SPEED = 24;
/** Change of the clock of expiry that is written to the store: half a minute of catching up, so that one goes on that runs for minutes. */
const EXPIRY_WRITE_MS = 600_000;
/** Difference to the clock of which the log tells. */
const EXPIRY_LAG_MS = 24 * 3_600_000;
/** Time after which a clock that was set back is taken to be right, and what was shown before to be wrong. */
const TRUST_MS = 24 * 3_600_000;
const EXPIRY_MOMENT = 'expiry';

/**
 * Opens the clock by which stored data expire. It is that of the store, but where that is set ahead it follows a day in an hour, and
 * goes on from there after a restart: a clock that is wrong for a while, as after a boot without network, deletes next to nothing. The
 * first start takes the clock as it is. A clock that was set back counts again after it was behind for a day. Ask it often: the time since the
 * last question is that in which it may follow.
 */
export async function openExpiryClock(
  store: Pick<Store, 'call'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  log: Pick<Logger, 'warn'>,
): Promise<Pick<Clock, 'now'>> {
  let written = (await store.call('readMoment', { name: EXPIRY_MOMENT })) ?? 0;
  /** The latest moment of this clock. */
  let reached = written;
  let askedAt = clock.monotonic();
  /** Since when the clock is behind that moment. */
  let behindSince: number | undefined;
  let isBehind = false;
  let isWriting = false;

  /** The next question tries again what fails. */
  async function write(at: number): Promise<void> {
    isWriting = true;
    await store.call('noteMoment', { name: EXPIRY_MOMENT, at, replaced: written }).then(
      () => {
        written = at;
      },
      () => undefined,
    );
    isWriting = false;
  }

  function follow(now: number): void {
    const asked = clock.monotonic();
    const next = reached < EARLIEST_TIME_MS ? now : Math.min(now, reached + (asked - askedAt) * EXPIRY_SPEED);
    behindSince = now < reached ? (behindSince ?? asked) : undefined;
    const isTrusted = behindSince !== undefined && asked - behindSince >= TRUST_MS && now >= EARLIEST_TIME_MS;
    reached = isTrusted ? now : Math.max(reached, next);
    askedAt = asked;
    if (!isWriting && Math.abs(reached - written) >= EXPIRY_WRITE_MS) void write(Math.floor(reached));
  }

  function warn(by: number): void {
    if (by > EXPIRY_LAG_MS && !isBehind)
      log.warn({ by }, 'the clock was set ahead, or no gateway ran for long; expired data is deleted gradually');
    isBehind = by > EXPIRY_LAG_MS;
  }

  if (clock.now() < EARLIEST_TIME_MS) {
    const at = new Date(clock.now()).toISOString();
    log.warn({ at }, 'the clock is not set; data that is stored now is deleted as old once it is');
  }

  return {
    now() {
      const now = clock.now();
      follow(now);
      warn(now - reached);
      return Math.min(now, Math.floor(reached));
    },
  };
}
