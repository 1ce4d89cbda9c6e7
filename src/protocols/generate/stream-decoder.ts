/** Stream decoder of generateContent: converts upstream chunks to events. A whole response is a stream of one chunk. */

import { createHash } from 'node:crypto';
import type { CallPart, ChatEvent, NativePart, Opaque, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { type Json, read } from '../../core/json/json.ts';
import type { Target } from '../../core/operation.ts';
import { createPartWriter } from '../../core/parts.ts';
import type { StreamDecoder } from '../../core/stream-codec.ts';
import { joinUsage } from '../../core/usage-bounds.ts';
import { createCitationBudget, sourcesIn } from './citations.ts';
import { type CitedTexts, createCitedTexts } from './cited-texts.ts';
import { decodeBlob, decodeFile } from './content-decoder.ts';
import { errorIn } from './errors.ts';
import { decodeBlock, decodeFinish } from './finish.ts';
import { decodeLogprobs } from './logprobs.ts';
import { createPartialCall, type PartialCall } from './partial-call.ts';
import { responseShape } from './response-shape.ts';
import { decodeUsage, isSearched, usageOf } from './usage.ts';

const NATIVE = [
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
  'functionResponse',
  'audioTranscription',
];

/** State of one candidate. */
interface CandidateState {
  texts: CitedTexts;
  /** Signature of the open text or thought. */
  signature?: string | undefined;
  called: boolean;
  /** There is a text or another part that is no thought. */
  spoke: boolean;
  partial?: PartialCall;
  /** Queries of the searches that the model made. */
  queries: string[];
  /** Members of the candidate that describe it as a whole; the last ones count. */
  last: Record<string, Json>;
}

const MAX_HASHED_CHARACTERS = 512;
const WHOLE = ['finishReason', 'continuationToken', 'finishMessage', 'safetyRatings', 'citationMetadata'];

export function createStreamDecoder(target: Target): StreamDecoder {
  const chunks = createChunkDecoder(target);
  return {
    decode(event) {
      if (event.data === '' || event.data === '[DONE]') return [];
      let chunk: Json;
      try {
        chunk = read(event.data);
      } catch (cause) {
        return chunks.fail(
          new GatewayError('upstream_error', 'The upstream sent an event that is not JSON.', { cause }),
        );
      }
      return chunks.decode(chunk);
    },
    end: chunks.end,
    usage: chunks.usage,
  };
}

/** Arguments that broke off: no whole JSON, so that nobody takes them for those that the model meant. */
function unfinished(args: string): string {
  return args === '{}' ? '' : args.slice(0, -1);
}

/** The searches of a candidate, which this wire tells beside its parts. */
function searchOf({ queries, last }: CandidateState): NativePart | undefined {
  if (queries.length === 0) return undefined;
  const sources = sourcesIn(last);
  return { type: 'native', protocol: '', value: {}, search: { id: '', queries, sources } };
}

/** An empty candidate before later ones. */
function absent(candidate: number): ChatEvent {
  return { type: 'candidate-end', candidate, finish: { reason: 'other' } };
}

export interface GenerateChunkDecoder {
  decode(chunk: Json): ChatEvent[];
  fail(error: GatewayError): ChatEvent[];
  end(): ChatEvent[];
  /** Counts reported so far. */
  usage(): Usage | undefined;
}

export function createChunkDecoder(target: Target): GenerateChunkDecoder {
  const writer = createPartWriter();
  const states: CandidateState[] = [];
  const citations = createCitationBudget();
  let responseId = '';
  let started = false;
  let failed = false;
  let blocked: Json;
  let usage: Partial<Usage> | undefined;
  let calls = 0;

  function fail(error: GatewayError): ChatEvent[] {
    if (failed) return [];
    failed = true;
    return [{ type: 'error', error }];
  }

  function start(chunk: Json): ChatEvent[] {
    if (started) return [];
    started = true;
    responseId = chunk.responseId ?? '';
    const created = Math.floor(Date.parse(chunk.createTime) / 1000);
    const counted = decodeUsage(chunk.usageMetadata);
    return [
      {
        type: 'message-start',
        id: responseId,
        model: chunk.modelVersion ?? target.model,
        ...(Number.isFinite(created) && { created }),
        ...(counted && { usage: counted }),
      },
    ];
  }

  function decode(given: Json): ChatEvent[] {
    if (failed) return [];
    const error = errorIn(given);
    if (error) return fail(error);
    const chunk = responseShape(given);
    if (!chunk) return fail(new GatewayError('upstream_error', 'The upstream sent an event of another kind.'));
    const events = start(chunk);
    const seen = usageOf(chunk);
    if (seen) usage = joinUsage(usage, seen);
    const candidates: Json[] = chunk.candidates ?? [];
    if (chunk.promptFeedback && (candidates.length === 0 || chunk.promptFeedback.blockReason)) {
      blocked = chunk.promptFeedback;
    }
    for (const [position, candidate] of candidates.entries()) {
      for (const event of decodeCandidate(candidate, candidate.index ?? position)) events.push(event);
    }
    return events;
  }

  function stateOf(candidate: number): CandidateState {
    states[candidate] ??= {
      texts: createCitedTexts(citations),
      called: false,
      spoke: false,
      queries: [],
      last: {},
    };
    return states[candidate];
  }

  function decodeCandidate(candidate: Json, index: number): ChatEvent[] {
    const state = stateOf(index);
    for (const name of WHOLE) if (candidate[name] !== undefined) state.last[name] = candidate[name];
    const { groundingMetadata, logprobsResult } = candidate;
    if (groundingMetadata?.groundingChunks) state.last.groundingMetadata = groundingMetadata;
    state.texts.beginChunk(candidate);
    const queries: string[] = (isSearched(groundingMetadata) && groundingMetadata?.webSearchQueries) || [];
    if (queries.length > state.queries.length) state.queries = queries;
    const parts: Json[] = candidate.content?.parts ?? [];
    const made = parts.flatMap((part) => decodePart(part, state, index));
    const events = candidate.finishReason === undefined ? made : state.texts.cite(made, state.last);
    const logprobs = decodeLogprobs(logprobsResult);
    return logprobs ? [...events, ...visible(state, index, { logprobs })] : events;
  }

  function decodePart(part: Json, state: CandidateState, index: number): ChatEvent[] {
    const opaque = signatureOf(part);
    if (part.functionCall) return decodeCall(part.functionCall, opaque, state, index);
    const text: string = typeof part.text === 'string' ? part.text : '';
    const isWhole = part.inlineData || part.fileData || NATIVE.some((name) => part[name]);
    const events = text !== '' || isWhole ? flush(state, index) : [];
    if (part.thought === true) {
      if (text === '' && !opaque) return events;
      if (state.texts.isOpen) state.signature = undefined;
      state.texts.leave();
      const ended = endSigned(state, index, opaque);
      return [...events, ...ended, ...writer.text(index, 'reasoning', { text, opaque })];
    }
    if (part.inlineData) return [...events, ...whole(state, index, { ...decodeBlob(part.inlineData), opaque })];
    if (part.fileData) return [...events, ...whole(state, index, { ...decodeFile(part.fileData), opaque })];
    if (isWhole) {
      return [...events, ...whole(state, index, { type: 'native', protocol: 'generate', value: part })];
    }
    return text === '' && !opaque ? events : [...events, ...visible(state, index, { text, opaque })];
  }

  function signatureOf({ thoughtSignature }: Json): Opaque | undefined {
    if (typeof thoughtSignature !== 'string' || thoughtSignature === '') return undefined;
    return { kind: 'signature', value: thoughtSignature, origin: target.origin };
  }

  function visible(state: CandidateState, index: number, delta: Parameters<typeof writer.text>[2]): ChatEvent[] {
    const { texts } = state;
    if (!texts.isOpen) state.signature = undefined;
    const ended = endSigned(state, index, delta.opaque);
    if (ended.length > 0) texts.leave();
    texts.add(delta.text ?? '');
    state.spoke ||= texts.text !== '';
    const said = writer.text(index, 'text', delta);
    const last = said.at(-1);
    if (last && 'index' in last) texts.place(last.index);
    return [...ended, ...said];
  }

  /** Ends a signed text or thought where another signature follows: each belongs to a part of its own. */
  function endSigned(state: CandidateState, index: number, opaque: Opaque | undefined): ChatEvent[] {
    if (!opaque) return [];
    const isAnother = state.signature !== undefined && state.signature !== opaque.value;
    state.signature = opaque.value;
    return isAnother ? writer.close(index) : [];
  }

  function whole(state: CandidateState, index: number, part: Parameters<typeof writer.whole>[1]): ChatEvent[] {
    state.texts.leave();
    state.signature = undefined;
    state.spoke = true;
    return writer.whole(index, part);
  }

  function decodeCall(call: Json, opaque: Opaque | undefined, state: CandidateState, index: number): ChatEvent[] {
    const events = call.name ? flush(state, index) : [];
    if (call.name) {
      state.called = true;
      const id = call.id || idOf(call);
      const part = { type: 'call', id, name: call.name, ...(opaque && { opaque }) } as const;
      if (!call.partialArgs && !call.willContinue) {
        return [...events, ...whole(state, index, { ...part, args: JSON.stringify(call.args ?? {}) })];
      }
      state.partial = createPartialCall(part);
    }
    state.partial?.add(call.partialArgs);
    return call.willContinue ? events : [...events, ...flush(state, index)];
  }

  /** Generated call id, for servers without ids; stable and unique per answer. */
  function idOf({ name, args }: Json): string {
    const answer = target.answerId === undefined ? [] : [target.answerId];
    // Of a real length; each call is hashed with it.
    const hashedId = responseId.slice(0, MAX_HASHED_CHARACTERS);
    const hash = createHash('sha256').update(JSON.stringify([...answer, hashedId, calls++, name, args ?? null]));
    return `call_${hash.digest('hex').slice(0, 24)}`;
  }

  /** A partial call ends at its end mark, or when a part with content begins: an empty one may stand at the end of any answer. */
  function flush(state: CandidateState, index: number, isCut = false): ChatEvent[] {
    if (!state.partial) return [];
    const { call, args } = state.partial;
    const part: CallPart = { ...call, args: isCut ? unfinished(args()) : args() };
    state.partial = undefined;
    return whole(state, index, part);
  }

  /** Sources and the search come before a call that has no end: the model wrote nothing behind it. */
  function endCandidate(state: CandidateState, index: number): ChatEvent[] {
    const { last } = state;
    const isCut = state.partial !== undefined && decodeFinish(last, { called: false, spoke: true }).reason !== 'stop';
    const events: ChatEvent[] = [];
    for (const citation of state.texts.uncited(last)) events.push(...visible(state, index, { citation }));
    events.push(...writer.close(index));
    const search = searchOf(state);
    if (search) events.push(...writer.whole(index, search));
    events.push(...flush(state, index, isCut));
    events.push({
      type: 'candidate-end',
      candidate: index,
      finish: decodeFinish(last, { called: state.called && !isCut, spoke: state.spoke }),
    });
    return events;
  }

  function end(): ChatEvent[] {
    const known = states.filter((state) => state !== undefined);
    const finished = known.length > 0 && known.every(({ last }) => last.finishReason !== undefined);
    if (!finished && !blocked) {
      return fail(new GatewayError('upstream_error', 'The upstream closed its response before the end.'));
    }
    const events: ChatEvent[] = finished
      ? [...states].flatMap((state, index) => (state ? endCandidate(state, index) : [absent(index)]))
      : [...writer.close(0), { type: 'candidate-end', candidate: 0, finish: decodeBlock(blocked) }];
    const counted = countsSoFar();
    return [...events, { type: 'message-end', ...(counted && { usage: counted }) }];
  }

  function countsSoFar(): Usage | undefined {
    const { input, output } = usage ?? {};
    return input === undefined || output === undefined ? undefined : { ...usage, input, output };
  }

  return { decode, fail, end, usage: countsSoFar };
}
