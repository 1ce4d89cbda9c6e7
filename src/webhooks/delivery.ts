/** Webhook delivery: one job per attempt. The status code of the response decides the outcome. */

import type { Logger } from 'pino';
import type { Clock } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import { parseRetryAfter } from '../core/retry-after.ts';
import type { Job, JobHandler } from '../jobs/job.ts';
import { retryWhileUnavailable } from '../jobs/store-retry.ts';
import { FetchFailure } from '../net/fetch-failure.ts';
import type { GuardedClient, GuardedResponse } from '../net/guarded-client.ts';
import type { DeliveryOutcome, DeliveryTrigger } from '../store/delivery-log-rows.ts';
import { replayJobRef, WEBHOOK_JOB_KIND } from '../store/delivery-rows.ts';
import type { DeliveryAttemptResult } from '../store/operations/deliveries.ts';
import type { Store } from '../store/store.ts';
import type { TelemetryEvents } from '../telemetry/observer.ts';
import { EARLY_ATTEMPTS, MAX_ATTEMPTS, nextAttemptAt } from './schedule.ts';
import type { WebhookSecrets } from './secrets.ts';
import { signatureHeaders } from './signature.ts';

export interface DeliveryOptions {
  store: Pick<Store, 'call'>;
  client: Pick<GuardedClient, 'request'>;
  secrets: Pick<WebhookSecrets, 'signingSecrets'>;
  log: Pick<Logger, 'info' | 'warn'>;
  events?: Pick<TelemetryEvents, 'webhookAttempted' | 'webhookExhausted'>;
  clock: Clock;
  /** `User-Agent`, e.g. `polygate/1.2.3`. */
  userAgent: string;
  /** Timeout of one attempt, 10 seconds by default. Connecting may take half of it. */
  timeoutMs?: number;
  /** Whether the `Retry-After` of a receiver can delay the next attempt. */
  honorRetryAfter?: boolean;
  /** Whether to send the headers of Standard Webhooks too; true by default. */
  standardHeaders?: boolean;
  /** Random number from 0 to 1, for jitter. */
  random?: () => number;
}

const ATTEMPT_TIMEOUT_MS = 10_000;
const CONCURRENCY_LIMITS = { total: 256, lane: 8, owner: 32, late: 128 };
const MAX_HEADER_BYTES = 8192;
/** Limits for reading the body of the response, so that the receiver can finish sending it. The content is ignored. */
const MAX_BODY_BYTES = 4096;
const BODY_TIMEOUT_MS = 1_000;

type AttemptResponse = Pick<DeliveryAttemptResult, 'outcome' | 'status' | 'address' | 'retryAfter'>;

export function createDeliveryHandler(options: DeliveryOptions): JobHandler {
  const { store, log, events, clock, timeoutMs = ATTEMPT_TIMEOUT_MS, random = Math.random } = options;

  async function run(job: Job, signal: AbortSignal): Promise<void> {
    const { deliveryId, trigger } = parseJobRef(job);
    const { id, lease } = job;
    const attempt = { id, lease, deliveryId };
    const begun = await store.call('beginAttempt', {
      ...attempt,
      trigger,
      maxAttempts: MAX_ATTEMPTS,
      now: clock.now(),
    });
    if (begun.state === 'over' && begun.isExhausted) events?.webhookExhausted();
    if (begun.state !== 'send') return;
    const startedAt = clock.now();
    const drained = Promise.withResolvers<void>();
    let response: AttemptResponse;
    try {
      response = await send(
        options,
        { ...begun, id: deliveryId, sentAt: startedAt, timeoutMs, signal, isFirst: job.attempt === 0 },
        drained.resolve,
      );
    } catch (error) {
      if (trigger === 'schedule' && !signal.aborted) await store.call('retractAttempt', attempt);
      throw error;
    }
    const result = attemptResult({ job, trigger, startedAt, response });
    const record = { ...attempt, trigger, lane: job.lane, late: job.attempt + 1 >= EARLY_ATTEMPTS, result };
    await retryWhileUnavailable(() => store.call('recordAttempt', record), { clock, signal });
    report(deliveryId, result, trigger);
    await drained.promise;
  }

  function attemptResult({ job, trigger, startedAt, response }: FinishedAttempt): DeliveryAttemptResult {
    const endedAt = clock.now();
    const retryAfter = options.honorRetryAfter ? response.retryAfter : undefined;
    const isRetried = trigger === 'schedule' && response.outcome !== 'ack';
    const nextDueAt = isRetried ? nextAttemptAt({ attempt: job.attempt + 1, endedAt, retryAfter }, random) : undefined;
    return { scheduledAt: job.dueAt, startedAt, endedAt, ...response, nextDueAt };
  }

  function report(
    delivery: string,
    { outcome, status, nextDueAt }: DeliveryAttemptResult,
    trigger: DeliveryTrigger,
  ): void {
    events?.webhookAttempted(outcome);
    if (outcome !== 'ack' && trigger === 'schedule' && nextDueAt === undefined) events?.webhookExhausted();
    if (outcome === 'ack') log.info({ delivery, status }, 'webhook delivered');
    else log.warn({ delivery, outcome, status, nextDueAt }, 'webhook not delivered');
  }

  return { kind: WEBHOOK_JOB_KIND, limits: CONCURRENCY_LIMITS, maxRunMs: timeoutMs + BODY_TIMEOUT_MS, run };
}

interface FinishedAttempt {
  job: Job;
  trigger: DeliveryTrigger;
  startedAt: number;
  response: AttemptResponse;
}

function parseJobRef({ ref }: Job): { deliveryId: string; trigger: DeliveryTrigger } {
  const suffix = replayJobRef('');
  if (ref.endsWith(suffix)) return { deliveryId: ref.slice(0, -suffix.length), trigger: 'replay' };
  return { deliveryId: ref, trigger: 'schedule' };
}

interface AttemptRequest {
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
async function send(
  options: DeliveryOptions,
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
