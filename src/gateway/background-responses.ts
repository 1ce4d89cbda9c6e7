/** Background responses: the jobs that run them, one request each, and their end by cancellation, deletion or a stop. */

import type { Logger } from 'pino';
import { requestIdOf } from '../core/answer-id.ts';
import { type Clock, every } from '../core/clock.ts';
import { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import type { Protocol } from '../core/protocol.ts';
import { newRequestId } from '../core/request-id.ts';
import type { AppOptions } from '../http/app-options.ts';
import type { BackgroundRun } from '../http/background/run.ts';
import type { BodyReservation } from '../http/body-budget.ts';
import type { Job, JobHandler, Scheduler } from '../jobs/job.ts';
import { LOOKAHEAD_MS } from '../jobs/job-worker.ts';
import { createScheduler } from '../jobs/scheduler.ts';
import { type Key, stateOf } from '../keys/key.ts';
import type { KeyStore } from '../keys/store.ts';
import type { AnswerKeeper } from '../routing/answer-keeper.ts';
import type { Store } from '../store/store.ts';
import { retryWhileUnavailable } from '../store/unavailable.ts';
import {
  type BackgroundEnd,
  type BackgroundResponses,
  endWithoutAnswer,
  type OpenResponse,
  RESPONSE_JOB_KIND,
} from '../stored-responses/background.ts';
import type { EventLogOptions } from '../stored-responses/event-log.ts';

export interface BackgroundJobsOptions {
  store: Store;
  background: BackgroundResponses;
  keys: Pick<KeyStore, 'find'>;
  /** Options of the gateway's server, which background requests share. */
  app: AppOptions;
  protocol: Protocol;
  clock: Clock;
  log: Logger;
}

/** Responses that this gateway runs at once, and those of one key over all gateways. */
const LIMITS = { total: 64, lane: 64, owner: 32 };
/** A lease lasts a little longer: this is the time after which another gateway notices that this one is gone. */
const RENEWED_AFTER_MS = 10_000;
/** Interval of the search for running responses that were cancelled or deleted, by any gateway. */
const WATCH_INTERVAL_MS = 1_000;
/** Longer than the time by which jobs are claimed early: a gateway that is full would claim its own again before any other. */
const MIN_PAUSE_MS = 1.5 * LOOKAHEAD_MS;
/** A large request is looked at less often while it waits. */
const BYTES_PER_PAUSE_MS = 4096;
const MAX_PAUSE_MS = 60_000;

/** Starts at once. */
export function startBackgroundJobs(options: BackgroundJobsOptions): Scheduler {
  const { store, background, clock, log } = options;
  const { bodyBudget, bodyLimit } = options.app;
  const running = new Map<string, AbortController>();
  let watching: Promise<void> | undefined;

  const handler: JobHandler = {
    kind: RESPONSE_JOB_KIND,
    limits: LIMITS,
    maxRunMs: RENEWED_AFTER_MS,
    async run(job, signal) {
      const found = await background.find(job.ref);
      if (!found) return background.drop(job);
      const { bytes, isQueued, deadline } = found;
      // No body is larger, but a content may have its parts twice.
      const memory = bodyBudget.open(job.owner, Math.min(bytes, bodyLimit));
      if (memory) return run(job, signal, memory).finally(memory.release);
      if (isQueued && clock.now() < deadline) return returnLater(options, job, found);
      // It can only fail, which does not wait for memory.
      return inTurn(() => {
        signal.throwIfAborted();
        return run(job, signal);
      });
    },
  };

  async function run(job: Job, signal: AbortSignal, memory?: BodyReservation): Promise<void> {
    const open = await background.open(job.ref);
    if (!open) return background.drop(job);
    const closed = new AbortController();
    running.set(job.ref, closed);
    const aborted = AbortSignal.any([signal, closed.signal]);
    await runJob(options, { job, open, memory, signal: aborted }).finally(() => running.delete(job.ref));
  }

  let lastTurn: Promise<void> = Promise.resolve();
  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = lastTurn.then(work);
    lastTurn = turn.catch(() => undefined);
    return turn;
  }

  const stopWatching = every(clock, WATCH_INTERVAL_MS, () => {
    if (running.size === 0 || watching) return;
    watching = background
      .closed([...running.keys()])
      .then((rows) => {
        for (const row of rows) running.get(row)?.abort();
      })
      .catch(() => undefined)
      .finally(() => {
        watching = undefined;
      });
  });
  const scheduler = createScheduler({ store, handlers: [handler], log, clock });
  return {
    wake: scheduler.wake,
    async stop(grace) {
      await scheduler.stop(grace);
      stopWatching();
      await watching;
    },
  };
}

interface Pause {
  /** Size of the content that waits. */
  bytes: number;
  deadline: number;
  /** Milliseconds after which the request may succeed. */
  retryAfter?: number | undefined;
}

/** Has a job claimed again after a pause, and at its deadline at the latest. */
function returnLater(
  { store, clock }: BackgroundJobsOptions,
  { id, lease }: Job,
  { bytes, deadline, retryAfter = 0 }: Pause,
): Promise<void> {
  const shortest = Math.max(MIN_PAUSE_MS, bytes / BYTES_PER_PAUSE_MS) * (1 + Math.random());
  const now = clock.now();
  const dueAt = Math.min(now + Math.min(MAX_PAUSE_MS, Math.max(shortest, retryAfter)), Math.max(now, deadline));
  return store.call('returnJob', { id, lease, dueAt: Math.ceil(dueAt), faults: 0 });
}

interface RunningJob {
  job: Job;
  open: OpenResponse;
  /** For the content and the body of its request; absent for one that can only fail. */
  memory: BodyReservation | undefined;
  signal: AbortSignal;
}

async function runJob(options: BackgroundJobsOptions, running: RunningJob): Promise<void> {
  const { background, clock } = options;
  const { job, open, memory, signal } = running;
  const durably: EventLogOptions['durably'] = (write) => retryWhileUnavailable(write, { clock, signal });
  const fail = (error: GatewayError) => durably(() => background.fail(open, job, error));
  if (open.stored.status === 'in_progress') return void (await fail(interrupted()));
  const totalMs = open.deadline - clock.now();
  if (totalMs <= 0 || !memory) return void (await fail(tooLate()));
  const key = await findKey(options, open.stored.owner);
  if (!key) return void (await fail(new GatewayError('invalid_api_key', 'The API key may not be used any more.')));
  const ended = Promise.withResolvers<void>();
  const run = { job, open, memory, signal, key, totalMs, durably, ended: ended.promise };
  try {
    const result = await runRequest(options, run);
    const { error, hasStarted, kept } = result;
    if (!kept && !hasStarted && error && mayWait(error)) {
      const pause = { bytes: open.stored.wholeBytes, deadline: open.deadline, retryAfter: error.retryAfter };
      return await returnLater(options, job, pause);
    }
    // Otherwise it was cancelled or deleted, or the lease is lost.
    if (!(await storeEnd(options, run, result))) await background.drop(job);
  } finally {
    ended.resolve();
  }
}

interface Run extends Omit<RunningJob, 'memory'>, Pick<BackgroundRun, 'key' | 'memory' | 'totalMs'> {
  durably: EventLogOptions['durably'];
  /** Resolves when the end of the response is stored. Until then it holds its conversation. */
  ended: Promise<void>;
}

interface RunResult {
  /** Whether the request may have reached an upstream. */
  hasStarted: boolean;
  error?: GatewayError | undefined;
  /** The response object of the last event that has one. */
  last?: Json;
  /** Names of dropped members. */
  dropped?: string;
  /** The answer, if there is one. */
  kept?: BackgroundEnd;
}

/** Runs the request and logs its events. The end of the response is not stored yet. */
async function runRequest(
  { background, protocol, app }: BackgroundJobsOptions,
  { job, open, durably, ended, ...more }: Run,
): Promise<RunResult> {
  const result: RunResult = { hasStarted: false };
  const keeper: AnswerKeeper = {
    isStored: true,
    async keep(answer) {
      const { endpoint, isRelayed, turn } = answer;
      const isForgotten = isRelayed && endpoint.dialect.keepsResponses === true;
      result.kept = { ...answer, isForgotten, provider: endpoint.provider.id };
      if (turn) turn.keeping = ended;
      return true;
    },
  };
  const events = background.log(open, durably);
  const sink: BackgroundRun['sink'] = {
    add(event) {
      if (event.response) result.last = event.response;
      events?.add(event);
    },
    get full() {
      return events?.full ?? false;
    },
    get waiting() {
      return events?.waiting ?? 0;
    },
    onDrain: (listener) => events?.onDrain(listener),
    noteDropped(names) {
      result.dropped = names;
    },
  };
  const request = {
    ...more,
    protocol,
    requestId: requestIdOf(open.stored.id) ?? newRequestId(),
    body: open.body,
    size: open.stored.wholeBytes,
    headers: open.headers,
    keeper,
    sink,
    async onAdmitted() {
      result.hasStarted = await background.start(open, job, durably);
      if (!result.hasStarted) throw new GatewayError('client_closed', 'The response was ended.');
    },
  };
  const { runInBackground } = await import('../http/background/run.ts');
  result.error = await runInBackground(request, app);
  // Readers of the stream get its end when the response has ended, so all events before are stored by then.
  await events?.close();
  return result;
}

/** False if the response was ended otherwise, or the lease is lost. */
async function storeEnd(
  { background }: BackgroundJobsOptions,
  { job, open, signal, durably }: Run,
  { kept, dropped, last, error }: RunResult,
): Promise<boolean> {
  const finish = (end: BackgroundEnd) => durably(() => background.finish(open, job, end));
  const fail = (problem: GatewayError) => durably(() => background.fail(open, job, problem));
  if (kept) return finishOrFail(() => finish({ ...kept, dropped }), fail);
  if (last?.status === 'failed' && !error) return finish(endWithoutAnswer(open, last));
  return fail(signal.aborted ? interrupted() : (error ?? unfinished()));
}

async function findKey({ keys, clock }: BackgroundJobsOptions, owner: string): Promise<Key | undefined> {
  const key = await keys.find(owner).catch((error) => {
    if (error instanceof GatewayError && error.code === 'not_found') return undefined;
    throw error;
  });
  return key && stateOf(key, clock.now()) === 'active' ? key : undefined;
}

/** Errors after which a request waits: a limit of the key, a busy gateway or a locked conversation. */
const PASSING_ERRORS = ['rate_limit_exceeded', 'unavailable', 'conversation_locked'];

function mayWait({ code, upstreamStatus }: GatewayError): boolean {
  return upstreamStatus === undefined && PASSING_ERRORS.includes(code);
}

/** An answer that is too large to be stored is a failure. */
async function finishOrFail(
  finish: () => Promise<boolean>,
  fail: (error: GatewayError) => Promise<boolean>,
): Promise<boolean> {
  try {
    return await finish();
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'payload_too_large') return fail(error);
    throw error;
  }
}

function interrupted(): GatewayError {
  const message =
    'The gateway was stopped while the response was made. It is not repeated, because it may have been charged.';
  return new GatewayError('internal_error', message);
}

function tooLate(): GatewayError {
  return new GatewayError('timeout', 'The response could not begin within its time.');
}

function unfinished(): GatewayError {
  return new GatewayError('upstream_error', 'The response ended without a result.');
}
