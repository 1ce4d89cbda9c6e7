/** Callback URL check: made when a task is created. Every delivery attempt checks the address again. */

import { type Clock, startTimeout, systemClock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { AddressPolicy } from '../net/address-policy.ts';
import { checkUrl } from '../net/check-url.ts';
import { FetchFailure } from '../net/fetch-failure.ts';
import { type Lookup, resolveChecked } from '../net/resolver.ts';

const MAX_URL_CHARACTERS = 2048;
/** Reason of a refused address, in the words of the check of URLs. */
const PRIVATE = 'only addresses on the public internet are allowed.';
/** Timeout of the DNS lookup. A name that cannot be resolved in time is accepted: it may resolve later. */
const DNS_TIMEOUT_MS = 2_000;

/** Returns the normalized URL. Throws `invalid_callback_url`; the message is the same for every address in a private network. */
export async function checkCallbackUrl(
  text: string,
  policy: AddressPolicy,
  lookup: Lookup,
  clock: Clock = systemClock,
): Promise<string> {
  if (text.length > MAX_URL_CHARACTERS) throw refusal(`it may have ${MAX_URL_CHARACTERS} characters at most.`);
  const url = parse(text, policy);
  const timeout = startTimeout(clock, DNS_TIMEOUT_MS);
  try {
    await resolveChecked(url, policy, lookup, timeout.signal);
  } catch (error) {
    if (error instanceof FetchFailure && error.outcome === 'dns') return url.href;
    throw refusal(PRIVATE);
  } finally {
    timeout.cancel();
  }
  return url.href;
}

function parse(text: string, policy: AddressPolicy): URL {
  try {
    return checkUrl(text, policy);
  } catch (error) {
    if (error instanceof GatewayError) throw refusal(error.message);
    throw error;
  }
}

function refusal(reason: string): GatewayError {
  const advice = reason === PRIVATE ? ' callbacks.allow_hosts and allow_cidrs in the configuration allow others.' : '';
  const message = `callback_url is refused: ${reason}${advice}`;
  return new GatewayError('invalid_callback_url', message, { param: 'callback_url' });
}
