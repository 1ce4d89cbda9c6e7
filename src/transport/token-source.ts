/** Token source: an access token, renewed early and once for all requests that wait for it. */

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
  clock?: Pick<Clock, 'now' | 'after'>;
}

/** A token is renewed at this part of its life, or so long before its end, whichever is later. */
const RENEWAL_SHARE = 0.8;
const RENEWAL_MARGIN_MS = 5 * 60_000;
const FETCH_TIMEOUT_MS = 30_000;
/** Between a failed renewal and the next one; doubled by each further failure. */
const FIRST_BACKOFF_MS = 1000;
const MAX_BACKOFF_MS = 60_000;
/** A token that is refused sooner was refused for another reason than its age. */
const MIN_REFUSED_AGE_MS = 10_000;

interface HeldToken extends AccessToken {
  obtainedAt: number;
  renewAt: number;
}

export function createTokenSource({ id, fetchToken, clock = systemClock }: TokenSourceOptions): TokenSource {
  let held: HeldToken | undefined;
  let renewal: Promise<string> | undefined;
  let failures = 0;
  let retryAt = 0;
  let lastFailure: GatewayError | undefined;

  async function fetchInTime(): Promise<AccessToken> {
    const timeout = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(FETCH_TIMEOUT_MS, () => {
      timeout.abort();
      reject(new Error('the token was not issued in time'));
    });
    try {
      return await Promise.race([fetchToken(timeout.signal), promise]);
    } finally {
      cancel();
    }
  }

  async function renew(): Promise<string> {
    try {
      const issued = await fetchInTime();
      const now = clock.now();
      const life = issued.expiresAt - now;
      const renewAt = Math.max(now + life * RENEWAL_SHARE, issued.expiresAt - RENEWAL_MARGIN_MS);
      held = { ...issued, obtainedAt: now, renewAt };
      failures = 0;
      retryAt = 0;
      return issued.token;
    } catch (cause) {
      retryAt = clock.now() + Math.min(FIRST_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS);
      failures++;
      lastFailure = new GatewayError('upstream_error', 'No access token for the upstream could be had.', { cause });
      throw lastFailure;
    } finally {
      renewal = undefined;
    }
  }

  function renewed(): Promise<string> {
    renewal ??= renew();
    return renewal;
  }

  return {
    id,
    token() {
      const now = clock.now();
      if (held && now < held.expiresAt) {
        // Its failure is told to nobody while the token is valid.
        if (now >= held.renewAt && now >= retryAt) renewed().catch(() => {});
        return held.token;
      }
      if (!renewal && lastFailure && now < retryAt) return Promise.reject(lastFailure);
      return renewed();
    },
    refused() {
      if (!held || clock.now() - held.obtainedAt < MIN_REFUSED_AGE_MS) return false;
      held = undefined;
      return true;
    },
  };
}
