/** Webhook delivery: one job per attempt. The status code of the response decides the outcome. */

import type { Logger } from 'pino';
import type { Job, JobHandler } from '../jobs/job.ts';
import type { DeliveryTrigger } from '../store/delivery-log-rows.ts';
import { type NewDelivery, replayJobRef, WEBHOOK_JOB_KIND } from '../store/delivery-rows.ts';
import type { DeliveryAttemptResult } from '../store/operations/deliveries.ts';
import type { Store } from '../store/store.ts';
import { retryWhileUnavailable } from '../store/unavailable.ts';
import type { TelemetryEvents } from '../telemetry/observer.ts';
import { type AttemptResponse, BODY_TIMEOUT_MS, type SenderOptions, sendWebhook } from './attempt.ts';
import { EARLY_ATTEMPTS, MAX_ATTEMPTS, nextAttemptAt } from './schedule.ts';

export interface ExhaustedDelivery {
  id: string;
  owner: string;
  /** Host and port of the receiver. */
  receiver: string;
}

export interface DeliveryOptions extends SenderOptions {
  store: Pick<Store, 'call'>;
  log: Pick<Logger, 'info' | 'warn'>;
  events?: Pick<TelemetryEvents, 'webhookAttempted' | 'webhookExhausted'>;
  /** Notice of a delivery that is given up, which the same transaction adds. */
  exhaustionNotice?: (delivery: ExhaustedDelivery) => NewDelivery | undefined;
  /** Timeout of one attempt, 10 seconds by default. Connecting may take half of it. */
  timeoutMs?: number;
  /** Whether the `Retry-After` of a receiver can delay the next attempt. */
  honorRetryAfter?: boolean;
  /** Random number from 0 to 1, for jitter. */
  random?: () => number;
}

const ATTEMPT_TIMEOUT_MS = 10_000;
const CONCURRENCY_LIMITS = { total: 256, lane: 8, owner: 32, late: 128 };

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
      notice: noticeOf(job, deliveryId),
    });
    if (begun.state === 'over' && begun.isExhausted) events?.webhookExhausted();
    if (begun.state !== 'send') return;
    const startedAt = clock.now();
    const drained = Promise.withResolvers<void>();
    let response: AttemptResponse;
    try {
      response = await sendWebhook(
        options,
        { ...begun, id: deliveryId, sentAt: startedAt, timeoutMs, signal, isFirst: job.attempt === 0 },
        drained.resolve,
      );
    } catch (error) {
      if (trigger === 'schedule' && !signal.aborted) await store.call('retractAttempt', attempt);
      throw error;
    }
    const result = attemptResult({ job, trigger, startedAt, response });
    const isGivenUp = result.outcome !== 'ack' && trigger === 'schedule' && result.nextDueAt === undefined;
    const notice = isGivenUp ? noticeOf(job, deliveryId) : undefined;
    const record = { ...attempt, trigger, lane: job.lane, late: job.attempt + 1 >= EARLY_ATTEMPTS, result, notice };
    let tries = 0;
    const recordAttempt = () => {
      tries += 1;
      return store.call('recordAttempt', record);
    };
    const isRecorded = await retryWhileUnavailable(recordAttempt, { clock, signal });
    // The lease is lost: the attempt of its new holder counts. After a repeated call it may be this one that is stored.
    if (!isRecorded && tries === 1) return drained.promise;
    report(deliveryId, result);
    if (isGivenUp) events?.webhookExhausted();
    await drained.promise;
  }

  function attemptResult({ job, trigger, startedAt, response }: FinishedAttempt): DeliveryAttemptResult {
    const endedAt = clock.now();
    const retryAfter = options.honorRetryAfter ? response.retryAfter : undefined;
    const isRetried = trigger === 'schedule' && response.outcome !== 'ack';
    const nextDueAt = isRetried ? nextAttemptAt({ attempt: job.attempt + 1, endedAt, retryAfter }, random) : undefined;
    return { scheduledAt: job.dueAt, startedAt, endedAt, ...response, nextDueAt };
  }

  function noticeOf({ owner, lane }: Job, id: string): NewDelivery | undefined {
    return options.exhaustionNotice?.({ id, owner, receiver: lane });
  }

  function report(delivery: string, { outcome, status, nextDueAt }: DeliveryAttemptResult): void {
    events?.webhookAttempted(outcome);
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
