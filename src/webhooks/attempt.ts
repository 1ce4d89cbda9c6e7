/** One attempt to send a webhook: signed, to an address that the policy allows, and judged by the status of the response. */

import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { parseRetryAfter } from '../core/fields.ts';
import { FetchFailure } from '../net/fetch-failure.ts';
import type { GuardedClient, GuardedResponse } from '../net/guarded-client.ts';
import type { DeliveryOutcome } from '../store/delivery-log-rows.ts';
import type { DeliveryAttemptResult } from '../store/operations/deliveries.ts';
import type { WebhookSecrets } from './secrets.ts';
import { signatureHeaders } from './signature.ts';

export interface SenderOptions {
  client: Pick<GuardedClient, 'request'>;
  secrets: Pick<WebhookSecrets, 'signingSecrets'>;
  clock: Clock;
  /** `User-Agent`, e.g. `polygate/1.2.3`. */
  userAgent: string;
  /** Whether to send the headers of Standard Webhooks too; true by default. */
  standardHeaders?: boolean;
}

const MAX_HEADER_BYTES = 8192;
/** Limits for reading the body of the response, so that the receiver can finish sending it. The content is ignored. */
const MAX_BODY_BYTES = 4096;
export const BODY_TIMEOUT_MS = 1_000;

export type AttemptResponse = Pick<DeliveryAttemptResult, 'outcome' | 'status' | 'address' | 'retryAfter'>;

export interface AttemptRequest {
  id: string;
  owner: string;
  url: string;
  body: Uint8Array;
  sentAt: number;
  timeoutMs: number;
  signal: AbortSignal;
  isFirst: boolean;
}

/** Throws for faults of the gateway, which do not count as attempts. Calls `onDrained` once the response body was read or closed. */
export async function sendWebhook(
  options: SenderOptions,
  request: AttemptRequest,
  onDrained: () => void,
): Promise<AttemptResponse> {
  const { client, secrets, userAgent, standardHeaders = true } = options;
  const { url, owner, timeoutMs, signal } = request;
  const body = Buffer.from(request.body);
  const signing = await secrets.signingSecrets(owner);
  if (!signing) throw new GatewayError('unavailable', `There is no webhook secret for the key ${owner}.`);
  const headers = { ...signatureHeaders({ ...request, body }, signing, standardHeaders), 'user-agent': userAgent };
  try {
    const response = await client.request(url, {
      method: 'POST',
      headers,
      body,
      maxBytes: MAX_BODY_BYTES,
      signal,
      deadline: timeoutMs,
      connectDeadline: timeoutMs / 2,
      maxHeaderBytes: MAX_HEADER_BYTES,
      checksAddresses: !request.isFirst,
    });
    drain(response, options.clock).finally(onDrained);
    const { status, address } = response;
    const outcome = status >= 200 && status < 300 ? 'ack' : 'http_status';
    return { outcome, status, address, retryAfter: parseRetryAfter(retryAfterHeader(response), request.sentAt) };
  } catch (error) {
    onDrained();
    return { outcome: outcomeOfError(error) };
  }
}

async function drain(response: GuardedResponse, clock: Clock): Promise<void> {
  const cancelTimer = clock.after(BODY_TIMEOUT_MS, response.close);
  try {
    for await (const _chunk of response.body);
  } catch {
    // The outcome was already decided by the status code.
  } finally {
    cancelTimer();
    response.close();
  }
}

function outcomeOfError(error: unknown): DeliveryOutcome {
  if (error instanceof FetchFailure) {
    switch (error.outcome) {
      case 'blocked':
      case 'dns':
      case 'connect':
      case 'tls':
      case 'timeout':
      case 'protocol':
        return error.outcome;
      case 'status':
      case 'busy':
      case 'too-large':
        return 'protocol';
      case 'local':
        throw error;
    }
  }
  // The URL was valid when the task was created; the address policy has changed since.
  if (error instanceof GatewayError && error.code === 'invalid_request') return 'blocked';
  throw error;
}

function retryAfterHeader({ headers }: GuardedResponse): string | undefined {
  const header = headers['retry-after'];
  return typeof header === 'string' ? header : undefined;
}
