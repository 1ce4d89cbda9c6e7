/** Whether a webhook may be sent to an address, asked when a task is created; every attempt asks again. */

import { GatewayError } from '../core/errors.ts';
import { FetchFailure } from '../net/failure.ts';
import type { AddressPolicy } from '../net/policy.ts';
import { type Lookup, resolveChecked } from '../net/resolver.ts';
import { checkUrl } from '../net/url.ts';

const MAX_URL_CHARACTERS = 2048;
/** Milliseconds that a caller waits for name servers; what doesn't resolve by then may do so later. */
const DNS_TIMEOUT_MS = 2_000;

/** Returns the URL as it is to be kept. Throws `invalid_callback_url`, with one text for all that lies in private networks. */
export async function checkCallbackUrl(text: string, policy: AddressPolicy, lookup: Lookup): Promise<string> {
  if (text.length > MAX_URL_CHARACTERS) throw refusal(`it may have ${MAX_URL_CHARACTERS} characters at most.`);
  const url = parse(text, policy);
  try {
    await resolveChecked(url, policy, lookup, AbortSignal.timeout(DNS_TIMEOUT_MS));
  } catch (error) {
    if (error instanceof FetchFailure && error.outcome === 'dns') return url.href;
    throw refusal('only addresses on the public internet are allowed.');
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
  return new GatewayError('invalid_callback_url', `callback_url is refused: ${reason}`, { param: 'callback_url' });
}
