/** Request body reader, with limits of size and time. */

import { ByteCollector } from '../core/byte-collector.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Fields } from '../core/fields.ts';
import { MIN_RATE_BYTES_PER_S } from '../http1/connection-end.ts';
import type { ServerRequest } from '../http1/server-request.ts';
import type { BodyReservation } from './body-budget.ts';

export interface BodyOptions {
  /** Maximum size in bytes. */
  limit: number;
  reservation: BodyReservation;
  clock?: Clock;
}

/** Without a minimum rate; a slower client would occupy memory. */
const BODY_GRACE_MS = 10_000;
const BODY_CHECK_INTERVAL_MS = 2000;
/** Announced size from which the buffer of a body is made at once. */
const LARGE_BODY_BYTES = 64 * 1024;
/** Limit on routes without authentication, so that strangers cannot exhaust the body budget. */
export const MAX_SMALL_BODY_BYTES = 4096;
/** Suggested delay before a retry while the body budget is exhausted. */
const BUDGET_RETRY_MS = 1000;

/** `Content-Length` in bytes; 0 without one. */
export function announcedLength(headers: Fields): number {
  const length = Number(headers['content-length'] ?? 0);
  return Number.isSafeInteger(length) && length > 0 ? length : 0;
}

/** Error of a body that exceeds the body budget. */
export function noRoom(): GatewayError {
  const message = 'The gateway holds as many request bodies as it can; try again in a moment.';
  return new GatewayError('unavailable', message, { retryAfter: BUDGET_RETRY_MS });
}

/** Throws `payload_too_large`, `unavailable`, `request_timeout` and `client_closed`. */
export function readBytes(
  request: Pick<ServerRequest, 'headers' | 'receive'>,
  { limit, reservation, clock = systemClock }: BodyOptions,
): Promise<Buffer> {
  const announced = announcedLength(request.headers);
  return new Promise((resolve, reject) => {
    if (announced > limit) {
      reject(tooLarge(limit));
      return;
    }
    const collected = announced > LARGE_BODY_BYTES ? new FilledBuffer(announced) : new ByteCollector();
    let received = 0;
    let isSettled = false;
    let stopWatch: (() => void) | undefined;

    function fail(error: GatewayError): void {
      if (settle()) reject(error);
    }

    /** Keeps nothing of the body. Whether it was not settled before. */
    function settle(): boolean {
      if (isSettled) return false;
      isSettled = true;
      stopWatch?.();
      return true;
    }

    request.receive({
      data(chunk) {
        if (isSettled) return;
        received += chunk.length;
        if (received > limit) fail(tooLarge(limit));
        else if (reservation.growTo(received)) collected.addCopy(chunk);
        else fail(noRoom());
      },
      end() {
        if (!settle()) return;
        try {
          resolve(collected.take());
        } catch (error) {
          reject(error);
        }
      },
      broken(error) {
        fail(error ?? clientClosed());
      },
    });
    // Most bodies come with their heads, and need no timer.
    queueMicrotask(() => {
      const onSlow = () => fail(tooSlow());
      if (!isSettled) stopWatch = watchRate(clock, () => received, onSlow);
    });
  });
}

/** A buffer of the announced size, so that a large body is not held twice. Pages that no byte has reached take no memory. */
class FilledBuffer {
  #bytes: Buffer;
  #length = 0;

  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafeSlow(size);
  }

  /** No more comes than was announced. */
  addCopy(chunk: Buffer): void {
    this.#length += chunk.copy(this.#bytes, this.#length);
  }

  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = NO_BYTES;
    this.#length = 0;
    return bytes;
  }
}

const NO_BYTES = Buffer.alloc(0);

/**
 * Calls `onSlow` once where fewer bytes than the minimum are received; the returned function ends the watch. Time in which
 * the event loop was blocked does not count, because data may have been waiting.
 */
export function watchRate(clock: Clock, received: () => number, onSlow: () => void): () => void {
  let started = clock.monotonic();
  let due = started + BODY_GRACE_MS;
  let cancelTimer = clock.after(BODY_GRACE_MS, check);

  function check(): void {
    const now = clock.monotonic();
    started += Math.max(0, now - due);
    if (received() < (MIN_RATE_BYTES_PER_S * (now - started)) / 1000) {
      onSlow();
      return;
    }
    due = now + BODY_CHECK_INTERVAL_MS;
    cancelTimer = clock.after(BODY_CHECK_INTERVAL_MS, check);
  }

  return () => cancelTimer();
}

/** Checks the head of a request for a route for anyone. Throws `payload_too_large`, also for a body of unknown length. */
export function checkSmallBody({ smallBody }: { smallBody?: boolean }, headers: Fields): void {
  if (!smallBody) return;
  if (headers['transfer-encoding'] === undefined && announcedLength(headers) <= MAX_SMALL_BODY_BYTES) return;
  const message = `The body must have a content-length of at most ${MAX_SMALL_BODY_BYTES} bytes.`;
  throw new GatewayError('payload_too_large', message);
}

function clientClosed(): GatewayError {
  return new GatewayError('client_closed', 'The client closed the connection before its body was complete.');
}

function tooLarge(limit: number): GatewayError {
  return new GatewayError('payload_too_large', `The body is larger than ${limit} bytes.`);
}

function tooSlow(): GatewayError {
  const message = `The body came too slowly: it must come at ${MIN_RATE_BYTES_PER_S} bytes a second or faster.`;
  return new GatewayError('request_timeout', message);
}
