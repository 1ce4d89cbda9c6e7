/** Stream writer: an upstream's stream, written to the client as it comes. */

import type { Usage } from '../../core/chat.ts';
import { GatewayError, toGatewayError } from '../../core/errors.ts';
import type { Framer } from '../../core/sse.ts';
import type { Deadline } from '../../transport/deadlines.ts';
import { withoutCredential } from '../capture/redaction.ts';
import type { AttemptResult, ResponseContext, UpstreamHeaders } from './context.ts';
import { joined, type Output, type StreamConverter } from './converter.ts';
import { createStreamConverter } from './create-stream-converter.ts';
import {
  type BodyReader,
  COUNTS_TIMEOUT_MS,
  finishWhenRecorded,
  UPSTREAM_CLOSE_TIMEOUT_MS,
  watchClosing,
} from './ending.ts';
import { costHeader, costTrailer, responseHeaders, unshownHeaders } from './headers.ts';
import { MAX_STREAM_BYTES, resizeShare } from './response-budget.ts';
import { rememberState } from './state.ts';

/** Time after which a stream is expected to last, so that memory is worth more than the time to release it. */
const LASTING_MS = 2000;
/** The share of a stream grows in such steps: the size of most frames is another one than that of the frame before. */
const SHARE_STEP_BYTES = 1024;
/** Output tokens that an upstream may report before it generates anything. */
export const MAX_FIRST_TOKENS = 10;

/** A stream: written as it comes, with keep-alives, up to the end of the last round or an error in the client's protocol. */
export class StreamWriter implements BodyReader {
  readonly #context: ResponseContext;
  readonly #headers: UpstreamHeaders;
  readonly #converter: StreamConverter;
  /** Deadline of the next keep-alive; undefined before the head is written. */
  #keepAlive: Deadline | undefined;
  /** Deadline for the upstream to close its stream. */
  #closing: Deadline | undefined;
  #isOver = false;
  /** The upstream ended the response of this round. */
  #isAtEnd = false;
  /** A round has ended, and another one continues its answer. */
  #isContinued = false;
  /** The response budget has no room for it. */
  #isRefused = false;
  readonly #began: number;
  #lasts = false;

  constructor(context: ResponseContext, headers: UpstreamHeaders, createFramer: () => Framer) {
    this.#context = context;
    this.#headers = headers;
    this.#converter = createStreamConverter(context, createFramer);
    this.#began = context.timer.now();
  }

  data(chunk: Buffer): void {
    const context = this.#context;
    const out: Output[] = [];
    try {
      this.#converter.push(chunk, out);
    } finally {
      this.#write(out);
    }
    this.#updateShare();
    this.#limitClosing();
    if (this.#lasts || !this.#keepAlive || context.timer.now() - this.#began < LASTING_MS) return;
    this.#lasts = true;
    context.onLasting?.();
  }

  end(): void {
    if (this.#isOver) return;
    this.#isAtEnd = true;
    const context = this.#context;
    const { assembler } = context;
    const converter = this.#converter;
    this.#closing?.cancel();
    this.#closing = undefined;
    const out: Output[] = [];
    try {
      converter.end(out);
    } finally {
      this.#write(out);
    }
    this.#updateShare();
    const nextRound = assembler?.next();
    if (nextRound) {
      this.#isAtEnd = false;
      this.#isContinued = true;
      context.continueUpstream(nextRound);
      return;
    }
    const isEmpty = !this.#keepAlive && converter.last().length === 0;
    if (isEmpty) throw new GatewayError('upstream_error', 'The upstream answered with an empty stream.');
    this.#keepAlive ??= this.#writeHead();
    if (assembler) rememberState(context, assembler.parts());
    this.#finish({ status: 'complete', usage: converter.usage() ?? converter.partialUsage() }, converter.last());
  }

  fail(failure: GatewayError): void {
    const { call, endpoint, options } = this.#context;
    const error = withoutCredential(failure, endpoint.credential.value);
    const converter = this.#converter;
    const isWhole = converter.complete() && !this.#isRefused;
    const last = this.#isOver ? undefined : isWhole ? this.#errorOfEnd() : error;
    if (!last) return;
    this.#closing?.cancel();
    if (!this.#keepAlive) {
      this.#isOver = true;
      // The rounds before are whole answers of the upstream, though they showed nothing.
      const usage = this.#isContinued ? converter.partialUsage() : undefined;
      this.#context.reject(last, usage ?? (this.#isAtEnd ? reportedUsage(converter) : undefined));
      return;
    }
    const { complete: client } = call.protocol.operations;
    const text = converter.fail?.(last) ?? client.encodeStreamError(last, call.requestId, options, converter.facts());
    const usage = converter.partialUsage();
    const closing = this.#isRefused ? [] : converter.last();
    this.#finish({ status: 'failed', usage, partial: true, error: last }, [...closing, text]);
  }

  /** Never of a translated stream, whose end a client sees with its usage alone. */
  awaitsUsage(): boolean {
    const converter = this.#converter;
    if (this.#isOver || this.#context.assembler) return false;
    return converter.facts().finish !== undefined && converter.usage() === undefined;
  }

  #writeHead(): Deadline {
    const context = this.#context;
    const { reply, options, timer, call } = context;
    const { complete: client } = call.protocol.operations;
    context.onAnswer?.();
    const headers = responseHeaders(context, this.#headers, client.streamType(options));
    reply.head(200, Object.assign(headers, costTrailer(context)));
    const deadline = timer.watch(() => {
      if (!reply.full) reply.write(options.array ? '\n' : client.keepAlive);
      deadline.in(context.keepAliveMs);
    });
    return deadline;
  }

  /** Output of a converter that throws is written before its error is handled. */
  #write(out: readonly Output[]): void {
    if (out.length === 0) return;
    const { reply, keepAliveMs } = this.#context;
    this.#keepAlive ??= this.#writeHead();
    for (const output of out) reply.write(output);
    this.#keepAlive.in(keepAliveMs);
  }

  /** Throws `unavailable` if the bytes held by the stream, its last ones included, exceed the response budget; these are not sent then. */
  #updateShare(): void {
    const { share, finished, reply } = this.#context;
    try {
      const endBytes = this.#converter.endBytes();
      const held = this.#converter.held() + (finished?.bytes ?? 0) + reply.waiting;
      const steps = Math.ceil((held + endBytes) / SHARE_STEP_BYTES);
      resizeShare(share, steps * SHARE_STEP_BYTES, MAX_STREAM_BYTES + endBytes);
    } catch (error) {
      this.#isRefused = true;
      throw error;
    }
  }

  #limitClosing(): void {
    const phase = this.#converter.phase();
    if (phase === 'open' || (this.#closing && phase === 'ended')) return;
    this.#closing ??= watchClosing(this.#context, this);
    this.#closing.in(phase === 'uncounted' ? COUNTS_TIMEOUT_MS : UPSTREAM_CLOSE_TIMEOUT_MS);
  }

  /** An error after the end of the response counts only if the end itself fails. */
  #errorOfEnd(): GatewayError | undefined {
    try {
      this.end();
      return undefined;
    } catch (thrown) {
      return toGatewayError(thrown);
    }
  }

  #finish(result: StreamResult, last: Output[]): void {
    const context = this.#context;
    this.#isOver = true;
    this.#keepAlive?.cancel();
    const facts = this.#converter.facts();
    const cost = costHeader(context, { usage: result.usage, finish: facts.finish });
    finishWhenRecorded(context, {
      result: { ...result, facts },
      body: joined(last),
      firstId: context.call.keeper && this.#converter.firstId?.(),
      trailers: Object.assign(cost, unshownHeaders(context)),
    });
  }
}

/** Undefined unless the upstream reported that it generated something, or its cost. Streams of Messages begin with a few tokens. */
function reportedUsage(converter: StreamConverter): Partial<Usage> | undefined {
  const [reported, partial] = [converter.usage(), converter.partialUsage()];
  // What a message reports when it starts is not all of it.
  const usage = (reported?.output ?? 0) < (partial?.output ?? 0) ? partial : reported;
  if (usage?.reportedCost !== undefined) return usage;
  return usage && (usage.output ?? 0) > MAX_FIRST_TOKENS ? usage : undefined;
}

type StreamResult = Omit<AttemptResult, 'finish' | 'keep' | 'facts'>;
