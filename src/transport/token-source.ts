/** Credentials that expire, renewed early and once for all requests that wait for them; an access token is one. */

import { type Clock, systemClock } from '../core/clock.ts';
import type { TokenSource } from '../core/credential.ts';
import { GatewayError } from '../core/errors.ts';

export interface AccessToken {
  token: string;
  /** Unix milliseconds. */
  expiresAt: number;
}

export interface TokenSourceOptions {
  /** Names the account without a secret. */
  id: string;
  /** Asks for a new token; the signal aborts when that takes too long. */
  fetchToken(signal: AbortSignal): Promise<AccessToken>;
  clock?: Pick<Clock, 'now' | 'monotonic' | 'after'>;
}

export interface Issued<Value> {
  value: Value;
  /** Unix milliseconds; infinite for one that does not expire. */
  expiresAt: number;
}

interface RenewalOptions<Value> {
  id: string;
  /** Name in messages. */
  name: string;
  /** Asks for a new one; the signal aborts when that takes too long. The message of a GatewayError is shown as the reason. */
  issue(signal: AbortSignal): Promise<Issued<Value>>;
  clock?: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  /** Called after each failure; `isUsable`: the old one is still valid. */
  onFailure?(error: GatewayError, isUsable: boolean): void;
}

interface Renewal<Value> extends Pick<TokenSource, 'id' | 'refused'> {
  /** Returns synchronously while one is valid. Rejects with a GatewayError if none can be obtained. */
  current(): Value | Promise<Value>;
  /** Renews one that may be the cause of a refusal, and keeps it until then. */
  doubted(): void;
}

/** A credential is renewed at this part of its life, or so long before its end, whichever is later. */
const RENEWAL_SHARE = 0.8;
const RENEWAL_MARGIN_MS = 5 * 60_000;
const ISSUE_TIMEOUT_MS = 30_000;
/** Between a failed renewal and the next one; doubled by each further failure. */
const FIRST_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 60_000;
/** A credential that is refused sooner was refused for another reason than its age. */
const MIN_REFUSED_AGE_MS = 10_000;

interface Held<Value> extends Issued<Value> {
  obtainedAt: number;
  /** Monotonic milliseconds of that moment. */
  since: number;
  renewAt: number;
}

export function createTokenSource({ id, fetchToken, clock }: TokenSourceOptions): TokenSource {
  const { current, refused } = createRenewal({
    id,
    name: 'access token',
    clock,
    async issue(signal) {
      const { token, expiresAt } = await fetchToken(signal);
      return { value: token, expiresAt };
    },
  });
  return { id, token: current, refused };
}

export function createRenewal<Value>(options: RenewalOptions<Value>): Renewal<Value> {
  const { id, name, issue, clock = systemClock, onFailure } = options;
  let held: Held<Value> | undefined;
  let renewal: Promise<Value> | undefined;
  let failures = 0;
  /** Monotonic milliseconds, as the clock may be set back during a backoff. */
  let retryAt = Number.NEGATIVE_INFINITY;
  let lastFailure: GatewayError | undefined;
  /** Whether the last one was given up because it was refused, and its successor is not there yet. */
  let isRefused = false;

  async function issueInTime(): Promise<Issued<Value>> {
    const timeout = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(ISSUE_TIMEOUT_MS, () => {
      timeout.abort();
      reject(new GatewayError('timeout', 'it was not issued in time'));
    });
    try {
      return await Promise.race([issue(timeout.signal), promise]);
    } finally {
      cancel();
    }
  }

  async function renew(): Promise<Value> {
    try {
      const issued = await issueInTime();
      const now = clock.now();
      const life = issued.expiresAt - now;
      if (!(life > 0))
        throw new GatewayError('unavailable', 'the issued token has expired by the clock of this machine');
      const renewAt = Math.max(now + life * RENEWAL_SHARE, issued.expiresAt - RENEWAL_MARGIN_MS);
      held = { ...issued, obtainedAt: now, since: clock.monotonic(), renewAt };
      failures = 0;
      retryAt = Number.NEGATIVE_INFINITY;
      isRefused = false;
      return issued.value;
    } catch (cause) {
      retryAt = clock.monotonic() + Math.min(FIRST_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS);
      failures++;
      lastFailure = failureOf(name, cause);
      onFailure?.(lastFailure, held !== undefined && clock.now() < held.expiresAt);
      throw lastFailure;
    } finally {
      renewal = undefined;
    }
  }

  function renewed(): Promise<Value> {
    renewal ??= renew();
    return renewal;
  }

  return {
    id,
    current() {
      const now = clock.now();
      if (held && now < held.expiresAt) {
        // With a clock that was set back, its end is unknown. A failure is told to nobody while the old one is valid.
        const isDue = now >= held.renewAt || now < held.obtainedAt;
        if (isDue && clock.monotonic() >= retryAt) renewed().catch(() => {});
        return held.value;
      }
      if (!renewal && lastFailure && clock.monotonic() < retryAt) return Promise.reject(lastFailure);
      return renewed();
    },
    refused(sentAt = clock.now()) {
      if (!held) return isRefused;
      // The request had its predecessor, unless the clock was set back.
      if (held.obtainedAt > sentAt && held.obtainedAt <= clock.now()) return true;
      if (clock.monotonic() - held.since < MIN_REFUSED_AGE_MS) return false;
      held = undefined;
      isRefused = true;
      return true;
    },
    doubted() {
      const now = clock.monotonic();
      if (held && now - held.since >= MIN_REFUSED_AGE_MS && now >= retryAt) renewed().catch(() => {});
    },
  };
}

function failureOf(name: string, cause: unknown): GatewayError {
  const reason = cause instanceof GatewayError ? `: ${cause.message}` : '';
  return new GatewayError('upstream_error', `No ${name} for the upstream could be had${reason}.`, { cause });
}
