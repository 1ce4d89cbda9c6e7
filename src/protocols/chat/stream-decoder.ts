/** Stream decoder: converts upstream chunks to hub events; a whole answer is decoded as one chunk. */

import type { ChatEvent, Citation, Finish, MediaPart, Opaque, TokenLogprob, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, read } from '../../core/json/json.ts';
import { sniffBase64 } from '../../core/mime.ts';
import type { StreamDecoder, Target } from '../../core/operation.ts';
import { type CallDelta, createPartWriter } from '../../core/parts.ts';
import { answer, MAX_CANDIDATES } from './answer-shape.ts';
import { decodeAnnotations, decodeSources } from './citations.ts';
import { errorIn } from './errors.ts';
import { decodeFinish, settleFinish } from './finish.ts';
import { mediaAt, thinkingText } from './media.ts';
import { callSignature, decodeDetail } from './reasoning.ts';
import { usageOf } from './usage.ts';

interface Slot {
  key: string;
  id?: string;
}

/** State of one candidate. */
interface Lane {
  finish?: Finish;
  seen: { calls: boolean; refusal: boolean };
  /** Calls by their index, with the id they began with; a server without indexes gets the order of appearance. */
  slots: Map<number, Slot>;
  /** The same calls by the ids that they came with, and the latest of them. */
  named: Map<string, Slot>;
  latest?: Slot;
  cited: Set<string>;
  audio?: MediaPart;
}

export interface ChatChunkDecoder {
  push(body: Json): ChatEvent[];
  /** `complete` after the end mark of the upstream. */
  end(complete: boolean): ChatEvent[];
}

export function createStreamDecoder(target: Target): StreamDecoder {
  const chunks = createChunkDecoder(target, false);
  let ended = false;

  /** After an error nothing follows. */
  function guarded(work: () => ChatEvent[]): ChatEvent[] {
    if (ended) return [];
    let events: ChatEvent[];
    try {
      events = work();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      events = [{ type: 'error', error }];
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
    end: () => finish(false),
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

/** Throws for an error inside a chunk. `whole` means that the one chunk is a whole answer; some servers send both forms at once. */
export function createChunkDecoder(target: Target, whole: boolean): ChatChunkDecoder {
  const writer = createPartWriter();
  const lanes: Lane[] = [];
  let id: string | undefined;
  let usage: Usage | undefined;
  let sources: Citation[] = [];

  function laneOf(candidate: number): Lane {
    lanes[candidate] ??= {
      seen: { calls: false, refusal: false },
      slots: new Map(),
      named: new Map(),
      cited: new Set(),
    };
    return lanes[candidate];
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
    const body = answer(given);
    const listed = decodeSources(body);
    if (listed.length > 0) sources = listed;
    const events = start(body);
    const choices: Json[] = (body.choices ?? []).slice(0, MAX_CANDIDATES);
    for (const [position, choice] of choices.entries()) {
      for (const event of decodeChoice(choice, choice.index ?? position)) events.push(event);
    }
    return events;
  }

  function decodeChoice(choice: Json, candidate: number): ChatEvent[] {
    const failed = errorIn(choice);
    if (failed) throw failed;
    const lane = laneOf(candidate);
    const sides = whole ? [choice.message, choice.delta] : [choice.delta, choice.message];
    const delta = sides.find(isObject) ?? { content: choice.text };
    const events = [
      ...decodeReasoning(delta, candidate),
      ...decodeContent(delta.content, decodeLogprobs(choice.logprobs), candidate),
      ...decodeRefusal(delta.refusal, candidate),
      ...decodeCalls(delta, candidate),
      ...decodeMedia(delta, candidate),
      ...cite(decodeAnnotations(delta.annotations), candidate),
    ];
    lane.finish = decodeFinish(choice, whole) ?? lane.finish;
    return events;
  }

  function decodeReasoning(delta: Json, candidate: number): ChatEvent[] {
    const details: Json[] = delta.reasoning_details ?? [];
    const decoded = details.map((detail) => decodeDetail(detail, target.origin));
    const events: ChatEvent[] = [];
    const plain = delta.reasoning_content || delta.reasoning;
    if (plain && decoded.every((detail) => detail.text === '')) {
      events.push(...writer.text(candidate, 'reasoning', { text: plain }));
    }
    for (const { text, opaque, whole } of decoded) {
      if (whole) events.push(...writer.whole(candidate, { type: 'reasoning', text: '', opaque }));
      else if (text !== '' || opaque) events.push(...writer.text(candidate, 'reasoning', { text, opaque }));
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
    laneOf(candidate).seen.refusal = true;
    return writer.text(candidate, 'refusal', { text: refusal });
  }

  function decodeCalls(delta: Json, candidate: number): ChatEvent[] {
    const lane = laneOf(candidate);
    const calls: Json[] = delta.tool_calls ?? [];
    const state = signatureOf(delta);
    const events = calls.flatMap((call, position) => {
      const { key, id } = slotOf(lane, call, candidate);
      const opaque = signatureOf(call) ?? (position === 0 ? state : undefined);
      return writer.call(candidate, key, { id, ...callDelta(call), opaque });
    });
    const legacy = delta.function_call;
    if (legacy?.name || legacy?.arguments) {
      const { key, id } = slotOf(lane, { index: MAX_CANDIDATES }, candidate);
      events.push(...writer.call(candidate, key, { id, ...callDelta({ function: legacy }) }));
    }
    if (events.length > 0) lane.seen.calls = true;
    return events;
  }

  function signatureOf(holder: Json): Opaque | undefined {
    const value = callSignature(holder);
    return value === undefined ? undefined : { kind: 'signature', value, origin: target.origin };
  }

  /** The call that a fragment belongs to. Servers repeat an index for several calls, send none, or send no id. */
  function slotOf(lane: Lane, call: Json, candidate: number): Slot {
    const { size } = lane.slots;
    const isNew = Boolean(call.function?.name || call.custom?.name || call.id);
    const named = typeof call.index === 'number' ? lane.slots.get(call.index) : lane.named.get(call.id);
    const known = named ?? (isNew || typeof call.index === 'number' ? undefined : lane.latest);
    if (known && !(call.id && known.id && call.id !== known.id)) return { key: known.key };
    const index = call.index ?? -1 - size;
    const slot: Slot = { key: `${index}/${call.id || size}`, id: call.id || undefined };
    lane.slots.set(index, slot);
    lane.latest = slot;
    if (slot.id) lane.named.set(slot.id, slot);
    return { key: slot.key, id: slot.id ?? inventedId(target.answerId ?? id ?? '', `${candidate}_${size}`) };
  }

  function decodeMedia(delta: Json, candidate: number): ChatEvent[] {
    const lane = laneOf(candidate);
    const { audio } = delta;
    if (audio?.id || audio?.data || audio?.transcript) {
      lane.audio ??= { type: 'media', kind: 'audio', data: '' };
      lane.audio.fileId = audio.id || lane.audio.fileId;
      lane.audio.data += audio.data ?? '';
      lane.audio.transcript = (lane.audio.transcript ?? '') + (audio.transcript ?? '');
    }
    const images: Json[] = delta.images ?? [];
    return images
      .map((image) => image.image_url?.url)
      .filter((url) => typeof url === 'string')
      .flatMap((url) => writer.whole(candidate, mediaAt(url, 'image')));
  }

  function cite(citations: Citation[], candidate: number): ChatEvent[] {
    const { cited } = laneOf(candidate);
    return citations.flatMap((citation) => {
      cited.add(citation.url ?? '');
      return writer.text(candidate, 'text', { citation });
    });
  }

  function endLane(lane: Lane, candidate: number): ChatEvent[] {
    const rest = candidate === 0 ? sources.filter((source) => !lane.cited.has(source.url ?? '')) : [];
    const finish = settleFinish(lane.finish ?? { reason: 'stop' }, lane.seen);
    return [
      ...cite(rest, candidate),
      ...(lane.audio ? writer.whole(candidate, withMime(lane.audio)) : []),
      ...writer.close(candidate),
      { type: 'candidate-end', candidate, finish },
    ];
  }

  function end(complete: boolean): ChatEvent[] {
    const unfinished = [...lanes].some((lane) => lane?.finish === undefined);
    if (lanes.length === 0 && complete) {
      throw new GatewayError('upstream_error', 'The upstream answered without any choice.');
    }
    if (lanes.length === 0 || (unfinished && !complete)) {
      throw new GatewayError('upstream_error', 'The upstream closed its answer before the end.');
    }
    const events = [...lanes].flatMap((_, candidate) => endLane(laneOf(candidate), candidate));
    return [...events, { type: 'message-end', usage }];
  }

  return { push, end };
}

/** Audio type detected from the data; the wire does not name it, and raw samples have no header. */
function withMime(audio: MediaPart): MediaPart {
  const mime = sniffBase64(audio.data ?? '');
  return mime ? { ...audio, mime } : audio;
}

function callDelta(call: Json): CallDelta {
  if (call.type === 'custom' || (call.custom && !call.function)) {
    return { name: call.custom?.name, args: call.custom?.input ?? '', custom: true };
  }
  const { name, arguments: args } = call.function ?? {};
  return { name, args: isObject(args) ? JSON.stringify(args) : (args ?? '') };
}

/** Generated id of a call without one: unique in a conversation, because the answer's id is. */
function inventedId(message: string, call: string): string {
  return `call_${message
    .replace(/^chatcmpl-/, '')
    .replace(/[^a-zA-Z0-9]/g, '')
    .slice(-24)}_${call}`;
}

function decodeLogprobs(logprobs: Json): TokenLogprob[] | undefined {
  const tokens: Json[] = logprobs?.content ?? [];
  if (tokens.length === 0) return undefined;
  return tokens.map(({ token, logprob = 0, bytes, top_logprobs }) => ({
    token,
    logprob,
    ...(bytes !== undefined && { bytes }),
    ...(top_logprobs?.length && {
      top: top_logprobs.map((other: Json) => ({
        token: other.token,
        logprob: other.logprob ?? 0,
        ...(other.bytes !== undefined && { bytes: other.bytes }),
      })),
    }),
  }));
}
