/** Background responses: stored before they are answered, run by a job, and finished or cancelled in the store. */

import { answerIdOf, isStorableId } from '../core/answer-id.ts';
import { createAges, EARLIEST_TIME_MS } from '../core/clock.ts';
import type { GatewayError } from '../core/errors.ts';
import type { Json } from '../core/json/json.ts';
import { newTimeOrderedId } from '../core/request-id.ts';
import type { FinishedItem, HiddenState } from '../core/stored-access.ts';
import {
  backgroundRequest,
  failedResponse,
  finishedResponse,
  firstEvents,
  isStoredForLong,
  queuedResponse,
} from '../protocols/responses/background.ts';
import { forgotten, inputItems, withHidden } from '../protocols/responses/stored.ts';
import type { StoredResponse } from '../records/stored-response.ts';
import type { ConversationTurn } from '../routing/conversation-turn.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { Lease } from '../store/job-rows.ts';
import { createContentReader, encodeContent, type StoredContent } from './content.ts';
import { readReserved, type StoredContext } from './context.ts';
import { appendedBy } from './conversation-turn.ts';
import { mayNotCancel, tooManyOpen, unknownResponse } from './errors.ts';
import { createEventLog, type EventLog, type EventLogOptions, sealEvents } from './event-log.ts';
import type { Reader } from './items.ts';
import { itemNames, itemsOf, statusOf } from './keeper.ts';

/** Kind of the jobs that run background responses; the reference is the row. */
export const RESPONSE_JOB_KIND = 'response';
/** Retention after the end of a response that the client does not want stored: it has to be fetched. */
const FETCH_PERIOD_MS = 10 * 60 * 1000;

/** A background response that is not finished, before its content is read. */
export interface UnreadResponse {
  /** Size of its content. */
  bytes: number;
  /** Whether it may be sent to a model: it was not before. */
  isQueued: boolean;
  /** Unix milliseconds. */
  deadline: number;
}

/** A background response that is not finished. */
export interface OpenResponse {
  stored: StoredResponse;
  content: StoredContent;
  /** Body of the request. */
  body: Json;
  headers: Record<string, string>;
  /** Unix milliseconds. */
  deadline: number;
  /** Number of the next event of its stream; absent if it is not streamed. */
  nextEvent?: number;
}

export interface AcceptedRequest {
  /** The gateway's name of the model, which answers have. */
  model: string;
  /** Provider of the first endpoint. */
  provider: string;
  headers: Record<string, string>;
}

/** The end of a run. */
export interface BackgroundEnd {
  response: Json;
  finished: readonly FinishedItem[];
  hidden?: readonly HiddenState[];
  /** Owner of opaque state. */
  origin: string;
  isRelayed: boolean;
  /** The upstream keeps responses, but not this one. */
  isForgotten: boolean;
  provider: string;
  turn?: ConversationTurn | undefined;
  /** Names of dropped members, as in the header `x-polygate-dropped` of other responses. */
  dropped?: string | undefined;
}

/** The end of a run without an answer. */
export function endWithoutAnswer({ stored: { provider } }: OpenResponse, response: Json): BackgroundEnd {
  return { response, finished: [], origin: '', isRelayed: false, isForgotten: false, provider };
}

export interface BackgroundResponses {
  /** Stores a request with its job, and returns its response object. Throws `rate_limit_exceeded`. */
  accept(call: InferenceCall, request: AcceptedRequest): Promise<Json>;
  /** Undefined if it is finished or deleted. */
  find(row: string): Promise<UnreadResponse | undefined>;
  /** Reads its content. Undefined if it is finished or deleted. */
  open(row: string): Promise<OpenResponse | undefined>;
  /** Log of the events of its stream; undefined if it is not streamed. */
  log(open: OpenResponse, durably: EventLogOptions['durably']): EventLog | undefined;
  /**
   * Starts a response that was queued; its request may then reach the upstream. False if it is cancelled or deleted, or the lease
   * is lost.
   */
  start(open: OpenResponse, job: Lease, durably: EventLogOptions['durably']): Promise<boolean>;
  /** False if it was finished otherwise, or the lease is lost. */
  finish(open: OpenResponse, job: Lease, end: BackgroundEnd): Promise<boolean>;
  /** Finishes it with an error. */
  fail(open: OpenResponse, job: Lease, error: GatewayError): Promise<boolean>;
  /** Returns those of the given rows whose response is finished or deleted. */
  closed(rows: readonly string[]): Promise<string[]>;
  /** Ends the job of a response that is finished or deleted. */
  drop(job: Lease): Promise<void>;
  /** The response object of a cancelled response. Throws `response_not_found` and `invalid_request`. */
  cancel(reader: Reader, id: string): Promise<Json>;
}

export interface BackgroundContext extends StoredContext {
  /** A job is due. */
  wake(): void;
}

export function createBackgroundResponses(context: BackgroundContext): BackgroundResponses {
  const { store, cipher, clock, settings, wake } = context;
  /** By rows. */
  const ages = createAges(clock);

  /** Returns when a response expires that ends now: by a clock near 1970, it would be old as soon as that is set. */
  function expiryOf({ createdAt }: { createdAt: number }, accepted: Record<string, Json>): number {
    const now = clock.now();
    const endedAt = now < EARLIEST_TIME_MS ? Math.max(now, createdAt) : now;
    return endedAt + (isStoredForLong(accepted) ? settings().keepMs : FETCH_PERIOD_MS);
  }

  function deadlineOf(row: string, { createdAt }: { createdAt: number }): number {
    return clock.now() - ages.of(row, createdAt) + settings().backgroundTimeoutMs;
  }

  const limits = () => ({ responses: settings().maxResponses, bytes: settings().maxBytes });

  async function accept(call: InferenceCall, { model, provider, headers }: AcceptedRequest): Promise<Json> {
    const { owner, requestId } = call;
    const { maxBackground, backgroundTimeoutMs, keepMs } = settings();
    const asked = call.asked ?? call.body;
    const now = clock.now();
    const row = newTimeOrderedId(now);
    const id = `resp_${answerIdOf(requestId)}`;
    const { output: _output, ...response } = queuedResponse(asked, { id, model, created: Math.floor(now / 1000) });
    const previous = await previousRow(owner, asked.previous_response_id);
    const accepted = { ...response, output: [] };
    const request = { body: { ...asked, input: [] }, headers };
    const { parts, ...columns } = await encodeContent(
      { origin: '', isRelayed: false, input: inputItems(asked.input), output: [], response, request },
      cipher,
      { owner, row },
    );
    const expiresAt = now + backgroundTimeoutMs + Math.max(keepMs, FETCH_PERIOD_MS);
    const stored: StoredResponse = {
      row,
      owner,
      id,
      status: 'queued',
      background: true,
      createdAt: now,
      expiresAt,
      model,
      provider,
      ...(previous !== undefined && { previous }),
      ...columns,
    };
    const isAccepted = await store.call('acceptBackgroundResponse', {
      response: stored,
      names: [{ kind: 'response', name: id, position: 0 }],
      parts,
      limits: limits(),
      mostOpen: maxBackground,
      job: { kind: RESPONSE_JOB_KIND, ref: row, lane: provider, owner, dueAt: now },
      ...(call.stream && { events: sealEvents(cipher, row, { first: 0, texts: firstEvents(accepted) }) }),
    });
    if (!isAccepted) throw tooManyOpen(maxBackground);
    wake();
    return accepted;
  }

  async function previousRow(owner: string, id: Json): Promise<string | undefined> {
    if (!isStorableId(id)) return undefined;
    const found = await store.call('findStoredResponse', { owner, id, now: clock.now() });
    return found?.row;
  }

  async function finish(
    { stored, content }: OpenResponse,
    job: Lease,
    { response: ended, finished, hidden = [], origin, isRelayed, isForgotten, provider, turn, dropped }: BackgroundEnd,
  ): Promise<boolean> {
    const { owner, row, id } = stored;
    ages.forget(row);
    const response = finishedResponse(ended, content.response);
    const { output, ...rest } = response;
    const all = withHidden(itemsOf(output, finished), hidden);
    const items = isForgotten ? all.map(forgotten) : all;
    const status = statusOf(response);
    const made = { owner, status, output: items, source: { origin, isRelayed } };
    const appended = turn && (await appendedBy(context, turn, made));
    const { parts, ...columns } = await encodeContent(
      { origin, isRelayed, input: content.input, output: items, response: rest, dropped },
      cipher,
      { owner, row },
    );
    return store.call('changeStoredResponse', {
      response: { ...stored, status, expiresAt: expiryOf(stored, content.response), provider, ...columns },
      names: [{ kind: 'response', name: id, position: 0 }, ...itemNames(items, finished)],
      parts,
      limits: limits(),
      finishes: { id: job.id, lease: job.lease },
      appended,
      streamExpiresAt: clock.now() + FETCH_PERIOD_MS,
    });
  }

  return {
    accept,

    async find(row) {
      const found = await store.call('sizeOfBackgroundResponse', { row });
      if (!found) return undefined;
      return { bytes: found.bytes, isQueued: found.status === 'queued', deadline: deadlineOf(row, found) };
    },

    async open(row) {
      const found = await store.call('readBackgroundResponse', { row });
      if (!found) return undefined;
      const { response: stored, parts, nextEvent } = found;
      const content = await createContentReader(stored.owner, parts, cipher).read(stored);
      if (!content?.request) return undefined;
      const { body, headers } = content.request;
      return {
        stored,
        content,
        body: backgroundRequest({ ...body, input: content.input }),
        headers,
        deadline: deadlineOf(row, stored),
        ...(nextEvent !== undefined && { nextEvent }),
      };
    },

    log({ stored: { row }, content, nextEvent: next }, durably) {
      if (next === undefined) return undefined;
      return createEventLog({ store, cipher, clock, row, accepted: content.response, next, durably });
    },

    start({ stored: { row } }, { id, lease }, durably) {
      let again = false;
      return durably(() => {
        const started = store.call('startBackgroundResponse', { row, job: { id, lease }, again });
        again = true;
        return started;
      });
    },

    finish,

    fail(open, job, error) {
      const response = { ...failedResponse(open.content.response, error), output: [] };
      return finish(open, job, endWithoutAnswer(open, response));
    },

    closed: (rows) => store.call('closedBackgroundResponses', { rows }),

    async drop({ id, lease }) {
      await store.call('endBackgroundJob', { id, lease });
    },

    async cancel({ owner, reserve }, id) {
      const unknown = unknownResponse(id);
      if (!isStorableId(id)) throw unknown;
      const now = clock.now();
      const outcome = await store.call('cancelBackgroundResponse', {
        owner,
        id,
        now,
        jobKind: RESPONSE_JOB_KIND,
        expiresAt: now + FETCH_PERIOD_MS,
      });
      if (!outcome) throw unknown;
      if (outcome !== 'cancelled') throw mayNotCancel(outcome);
      const found = await readReserved(
        (room) => store.call('readStoredResponse', { owner, id, now, room }),
        reserve,
        (read) => read?.response.wholeBytes ?? 0,
      );
      if (!found) throw unknown;
      const content = await createContentReader(owner, found.parts, cipher).read(found.response);
      if (!content) throw unknown;
      const { row, expiresAt } = found.response;
      // Only its content says how long it is to be stored.
      if (expiresAt <= now + FETCH_PERIOD_MS && isStoredForLong(content.response))
        await store.call('extendCancelledResponse', { row, expiresAt: expiryOf(found.response, content.response) });
      return { ...content.response, status: found.response.status, output: content.output };
    },
  };
}
