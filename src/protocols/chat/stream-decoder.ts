/** Stream decoder: converts upstream chunks to hub events; a whole response is decoded as one chunk. */

import type { ChatEvent, Citation, Finish, MediaPart, Opaque, TokenLogprob, Usage } from '../../core/chat.ts';
import { placedAt } from '../../core/cited-span.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, read } from '../../core/json/json.ts';
import { sniffBase64 } from '../../core/mime.ts';
import type { Target } from '../../core/operation.ts';
import { createPartWriter } from '../../core/parts.ts';
import type { StreamDecoder } from '../../core/stream-codec.ts';
import { mediaAt } from '../data-url.ts';
import { type CallSlots, callDelta, createCallSlots, generatedCallId } from './call-slots.ts';
import { decodeAnnotations, decodeSources } from './citations.ts';
import { errorIn } from './errors.ts';
import { decodeFinish, settleFinish } from './finish.ts';
import { decodeLogprobs } from './logprobs.ts';
import { thinkingText } from './media.ts';
import { callSignature, decodeDetail } from './reasoning.ts';
import { MAX_CANDIDATES, responseShape } from './response-shape.ts';
import { usageOf } from './usage.ts';

/** State of one candidate. */
interface CandidateState {
  finish?: Finish;
  seen: { calls: boolean; refusal: boolean };
  /** Whether it had anything but its role. */
  begun: boolean;
  calls: CallSlots;
  /** Index of the last entry of reasoning, once it is signed. */
  signed?: { index: unknown } | undefined;
  cited: Set<string>;
  /** Length of the content so far; index and beginning of its last part. */
  text: { length: number; start: number; index: number };
  /** Speech so far; its data comes in pieces. */
  audio?: { part: MediaPart; data: string[] };
}

export interface ChatChunkDecoder {
  push(body: Json): ChatEvent[];
  /** Decodes a chunk that differs from the one before, which had a delta of text alone, in that text alone; undefined where a chunk may tell more than its events do. */
  again(text: string): ChatEvent[] | undefined;
  /** `complete` after the end mark of the upstream. */
  end(complete: boolean): ChatEvent[];
  /** Counts reported so far. */
  usage(): Usage | undefined;
  isWhole(): boolean;
}

export function createStreamDecoder(target: Target): StreamDecoder {
  const chunks = createChunkDecoder(target, false);
  let ended = false;

  /** After an error nothing follows. One behind the finish reasons of all candidates changes nothing of their answer. */
  function guarded(work: () => ChatEvent[]): ChatEvent[] {
    if (ended) return [];
    let events: ChatEvent[];
    try {
      events = work();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      events = chunks.isWhole() ? [] : [{ type: 'error', error }];
    }
    if (events.some((event) => event.type === 'error')) ended = true;
    return events;
  }

  function finish(complete: boolean): ChatEvent[] {
    const events = guarded(() => chunks.end(complete));
    ended = true;
    return events;
  }

  return {
    decode({ data }) {
      if (data.trim() === '[DONE]') return finish(true);
      return data.trim() === '' ? [] : guarded(() => chunks.push(parse(data)));
    },
    again: (text) => (ended ? [] : chunks.again(text)),
    end: () => finish(false),
    usage: chunks.usage,
    isWhole: chunks.isWhole,
  };
}

function parse(data: string): Json {
  let body: Json;
  try {
    body = read(data);
  } catch (cause) {
    throw new GatewayError('upstream_error', 'The upstream sent a chunk that is not valid JSON.', { cause });
  }
  return isObject(body) ? body : {};
}

/** Throws for an error inside a chunk. `whole` means that the one chunk is a whole response; some servers send both forms at once. */
export function createChunkDecoder(target: Target, whole: boolean): ChatChunkDecoder {
  const writer = createPartWriter();
  const candidates: CandidateState[] = [];
  let id: string | undefined;
  let usage: Usage | undefined;
  let sources: Citation[] = [];
  /** The candidate of the last event. */
  let latest = 0;

  function stateOf(candidate: number): CandidateState {
    candidates[candidate] ??= {
      seen: { calls: false, refusal: false },
      begun: false,
      calls: createCallSlots((position) => generatedCallId(target.answerId ?? id ?? '', `${candidate}_${position}`)),
      cited: new Set(),
      text: { length: 0, start: 0, index: -1 },
    };
    return candidates[candidate];
  }

  /** Chunks without content, such as prompt filter results, don't start the message. */
  function start(body: Json): ChatEvent[] {
    if (id !== undefined || (!body.id && !body.choices?.length)) return [];
    const given: string = body.id || `chatcmpl-${body.created ?? 0}`;
    id = given;
    return [
      { type: 'message-start', id: given, model: body.model || target.model, created: body.created || undefined },
    ];
  }

  function push(given: Json): ChatEvent[] {
    const error = errorIn(given);
    if (error) throw error;
    usage = usageOf(given) ?? usage;
    const body = responseShape(given);
    const listed = decodeSources(body);
    if (listed.length > 0) sources = listed;
    const events = start(body);
    const choices: Json[] = body.choices ?? [];
    for (let position = 0; position < choices.length && position < MAX_CANDIDATES; position++) {
      const choice = choices[position];
      for (const event of decodeChoice(choice, choice.index ?? position)) events.push(event);
    }
    return events;
  }

  function decodeChoice(choice: Json, candidate: number): ChatEvent[] {
    const failed = errorIn(choice);
    if (failed) throw failed;
    const state = stateOf(candidate);
    const sides = whole ? [choice.message, choice.delta] : [choice.delta, choice.message];
    const delta = sides.find(isObject) ?? { content: choice.text };
    let events = decodeReasoning(delta, candidate);
    events = joined(events, decodeContent(delta.content, decodeLogprobs(choice.logprobs), candidate));
    events = joined(events, decodeRefusal(delta.refusal, candidate));
    events = joined(events, decodeCalls(delta, candidate));
    events = joined(events, decodeMedia(delta, candidate));
    events = joined(events, cite(decodeAnnotations(delta.annotations), candidate));
    state.finish = decodeFinish(choice, whole) ?? state.finish;
    if (events.length > 0) latest = candidate;
    state.begun ||= events.length > 0 || state.seen.calls || state.audio !== undefined;
    return placed(state.text, events);
  }

  function again(text: string): ChatEvent[] | undefined {
    if (candidates.some(({ audio }) => audio !== undefined)) return undefined;
    const events = writer.grow(latest, text);
    return events && placed(stateOf(latest).text, events);
  }

  /** A signature ends the thought of its entry: the next entry has one of its own. */
  function decodeReasoning(delta: Json, candidate: number): ChatEvent[] {
    const plain = delta.reasoning_content || delta.reasoning;
    if (!plain && !delta.reasoning_details) return [];
    const details: Json[] = delta.reasoning_details ?? [];
    const decoded = details.map((detail) => decodeDetail(detail, target.origin));
    const events: ChatEvent[] = [];
    if (plain && decoded.every((detail) => detail.text === '')) {
      events.push(...writer.text(candidate, 'reasoning', { text: plain }));
    }
    const state = stateOf(candidate);
    for (const [position, { text, opaque, whole }] of decoded.entries()) {
      if (whole) events.push(...writer.whole(candidate, { type: 'reasoning', text: '', opaque }));
      if (whole || (text === '' && !opaque)) continue;
      const { index } = details[position];
      const apart = state.signed !== undefined && state.signed.index !== index;
      events.push(...writer.text(candidate, 'reasoning', { text, opaque, apart }));
      if (opaque) state.signed = { index };
      else if (apart) state.signed = undefined;
    }
    return events;
  }

  /** Text, or a list of parts, or the parsed object that some servers put in place of JSON text. */
  function decodeContent(content: Json, logprobs: TokenLogprob[] | undefined, candidate: number): ChatEvent[] {
    if (Array.isArray(content)) return content.flatMap((part) => decodePart(part, candidate));
    const text = isObject(content) ? JSON.stringify(content) : (content ?? '');
    return text === '' && !logprobs ? [] : writer.text(candidate, 'text', { text, logprobs });
  }

  function decodePart(part: Json, candidate: number): ChatEvent[] {
    switch (part.type) {
      case 'text':
        return part.text ? writer.text(candidate, 'text', { text: part.text }) : [];
      case 'thinking': {
        const text = thinkingText(part);
        return text === '' ? [] : writer.text(candidate, 'reasoning', { text });
      }
      case 'image_url': {
        const url = part.image_url?.url ?? part.image_url;
        return typeof url === 'string' ? writer.whole(candidate, mediaAt(url, 'image')) : [];
      }
      default:
        return [];
    }
  }

  function decodeRefusal(refusal: Json, candidate: number): ChatEvent[] {
    if (!refusal) return [];
    stateOf(candidate).seen.refusal = true;
    return writer.text(candidate, 'refusal', { text: refusal });
  }

  function decodeCalls(delta: Json, candidate: number): ChatEvent[] {
    if (!delta.tool_calls && !delta.function_call) return [];
    const state = stateOf(candidate);
    const calls: Json[] = delta.tool_calls ?? [];
    const signature = signatureOf(delta);
    const events = calls.flatMap((call, position) => {
      const { key, id } = state.calls.slotOf(whole ? { ...call, index: position } : call);
      const opaque = signatureOf(call) ?? (position === 0 ? signature : undefined);
      return writer.call(candidate, key, { id, ...callDelta(call), opaque });
    });
    const legacy = delta.function_call;
    if (legacy?.name || legacy?.arguments) {
      const { key, id } = state.calls.slotOf({ index: MAX_CANDIDATES });
      events.push(...writer.call(candidate, key, { id, ...callDelta({ function: legacy }) }));
    }
    if (events.length > 0) state.seen.calls = true;
    return events;
  }

  function signatureOf(holder: Json): Opaque | undefined {
    const value = callSignature(holder);
    return value === undefined ? undefined : { kind: 'signature', value, origin: target.origin };
  }

  function decodeMedia(delta: Json, candidate: number): ChatEvent[] {
    if (!delta.audio && !delta.images) return [];
    const state = stateOf(candidate);
    const { audio } = delta;
    if (audio?.id || audio?.data || audio?.transcript) {
      state.audio ??= { part: { type: 'media', kind: 'audio' }, data: [] };
      const { part, data } = state.audio;
      part.fileId = audio.id || part.fileId;
      if (audio.data) data.push(audio.data);
      part.transcript = (part.transcript ?? '') + (audio.transcript ?? '');
    }
    const images: Json[] = delta.images ?? [];
    return images
      .map((image) => image.image_url?.url)
      .filter((url) => typeof url === 'string')
      .flatMap((url) => writer.whole(candidate, mediaAt(url, 'image')));
  }

  function cite(citations: Citation[], candidate: number): ChatEvent[] {
    if (citations.length === 0) return [];
    const { cited } = stateOf(candidate);
    return citations.flatMap((citation) => {
      cited.add(citation.url ?? '');
      return writer.text(candidate, 'text', { citation });
    });
  }

  function endCandidate(state: CandidateState, candidate: number): ChatEvent[] {
    const rest = candidate === 0 ? sources.filter((source) => !state.cited.has(source.url ?? '')) : [];
    const finish = settleFinish(state.finish ?? { reason: 'stop' }, state.seen);
    const events = [
      ...cite(rest, candidate),
      ...(state.audio ? writer.whole(candidate, wholeAudio(state.audio, whole)) : []),
      ...writer.close(candidate),
    ];
    return [...placed(state.text, events), { type: 'candidate-end', candidate, finish }];
  }

  function isUnfinished(): boolean {
    return [...candidates].some((state) => state?.finish === undefined);
  }

  function end(complete: boolean): ChatEvent[] {
    if (candidates.length === 0 && complete) {
      throw new GatewayError('upstream_error', 'The upstream answered without any choice.');
    }
    if (candidates.length === 0 || (!complete && isUnfinished())) {
      throw new GatewayError('upstream_error', 'The upstream closed its response before the end.');
    }
    if (!whole && [...candidates].every((state) => !state?.begun && !state?.finish)) {
      throw new GatewayError('upstream_error', 'The upstream answered with an empty stream.');
    }
    const events = [...candidates].flatMap((_, candidate) => endCandidate(stateOf(candidate), candidate));
    return [...events, { type: 'message-end', usage }];
  }

  return { push, again, end, usage: () => usage, isWhole: () => candidates.length > 0 && !isUnfinished() };
}

/** Events of two lists, of which one is empty in most cases. */
function joined(events: ChatEvent[], more: ChatEvent[]): ChatEvent[] {
  if (more.length === 0) return events;
  return events.length === 0 ? more : events.concat(more);
}

/** Citations count in the whole content; here they count in the part that carries them. */
function placed(text: CandidateState['text'], events: ChatEvent[]): ChatEvent[] {
  for (const event of events) {
    if (event.type === 'part-start' && event.part.type === 'text') {
      text.start = text.length;
      text.index = event.index;
    } else if (event.type === 'part-delta' && event.index === text.index) {
      text.length += event.text?.length ?? 0;
      if (event.citation) event.citation = placedAt(text.start, event.citation);
    }
  }
  return events;
}

/** Type of samples without a header, which streams have: 16 bits at 24 kHz. */
const RAW_SAMPLES = 'audio/L16;codec=pcm;rate=24000';

/** Speech with its data and type, which is detected: the wire does not name it. */
function wholeAudio({ part, data: pieces }: NonNullable<CandidateState['audio']>, whole: boolean): MediaPart {
  const data = joinedBase64(pieces);
  const mime = sniffBase64(data) ?? (whole || data === '' ? undefined : RAW_SAMPLES);
  return { ...part, data, ...(mime && { mime }) };
}

/** Padding inside of a text would end it, so pieces with padding are decoded first. */
function joinedBase64(pieces: readonly string[]): string {
  if (!pieces.slice(0, -1).some((piece) => piece.endsWith('='))) return pieces.join('');
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');
}
