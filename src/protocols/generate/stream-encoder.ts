/** Stream encoder of generateContent: server-sent events, or one JSON array for clients that don't ask for those. */

import type { ChatEvent, Citation, Finish, Opaque, OpenPart, TokenLogprob, Usage } from '../../core/chat.ts';
import type { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { wrap } from '../../core/opaque.ts';
import type { EncoderOptions } from '../../core/operation.ts';
import { isWritten } from '../../core/parts.ts';
import type { StreamEncoder } from '../../core/stream-codec.ts';
import { encodeCitations, type PlacedCitation } from './citations.ts';
import { encodeError } from './errors.ts';
import { encodeBlock, encodeFinish } from './finish.ts';
import { encodeLogprobs } from './logprobs.ts';
import { encodeCall, encodePart, isBare, isCutOff, isLimited } from './response.ts';
import { encodeUsage } from './usage.ts';

type Delta = Extract<ChatEvent, { type: 'part-delta' }>;

interface OpenBlock {
  candidate: number;
  part: OpenPart;
  offset: number;
  citations: Citation[];
  /** The last piece of a thought, held back for its signature: some clients lose one that comes with empty text. */
  held: string;
}

interface CandidateState {
  text: string;
  citations: PlacedCitation[];
  /** A call with incomplete arguments: an error, unless it was truncated by the output limit. */
  broken?: OpenPart;
  /** The chunk of the last call if it has no arguments, held back because the output limit may have cut them, and those behind it. */
  bare?: { call: string; behind: string } | undefined;
  finish?: Finish;
}

/** Lines end as Google's do; clients read LF as well. The official SDK 1.x takes U+2028 and U+2029 for line ends unless they are escaped. */
function frame(json: Json): string {
  const text = JSON.stringify(json).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
  return `data: ${text}\r\n\r\n`;
}

/** An empty text, because older clients break on a comment; never to be sent inside a JSON array. */
export const KEEP_ALIVE = frame({ candidates: [{ content: { role: 'model', parts: [{ text: '' }] }, index: 0 }] });

/** A comment without its line end, which only the official SDK 1.x sees: it skips errors but not a stream that breaks off. */
const BROKEN_OFF = ': incomplete';

export function createStreamEncoder(options: EncoderOptions): StreamEncoder {
  const blocks = new Map<number, OpenBlock>();
  const states: CandidateState[] = [];
  let id = '';
  let usage: Usage | undefined;
  let first = true;

  function send(json: Json): string {
    if (!options.array) return frame(json);
    const text = (first ? '[' : ',\r\n') + JSON.stringify(json);
    first = false;
    return text;
  }

  function chunkOf(candidate: number, parts: Json[], more: Json = {}): string {
    const content = { role: 'model', parts };
    return send({ candidates: [{ content, index: candidate, ...more }], ...named() });
  }

  /** A chunk in its turn: not before a call that is held back. */
  function chunk(candidate: number, parts: Json[], more?: Json): string {
    const text = chunkOf(candidate, parts, more);
    const bare = states[candidate]?.bare;
    if (!bare) return text;
    bare.behind += text;
    return '';
  }

  function settleBare(candidate: number, isCut = false): string {
    const state = stateOf(candidate);
    const { call, behind } = state.bare ?? { call: '', behind: '' };
    state.bare = undefined;
    return isCut ? behind : call + behind;
  }

  function named(): Json {
    return { modelVersion: options.model, ...(id !== '' && { responseId: id }) };
  }

  function stateOf(candidate: number): CandidateState {
    states[candidate] ??= { text: '', citations: [] };
    return states[candidate];
  }

  /** Begins an array with its first element at once, so that all later ones begin with a comma. */
  function startMessage(event: Extract<ChatEvent, { type: 'message-start' }>): string {
    id = event.id;
    usage = event.usage;
    return options.array ? chunk(0, [{ text: '' }]) : '';
  }

  function startPart(event: Extract<ChatEvent, { type: 'part-start' }>): string {
    const { candidate, index } = event;
    const settled = isWritten(event.part) ? settleBare(candidate) : '';
    const block: OpenBlock = {
      candidate,
      part: { ...event.part },
      offset: stateOf(candidate).text.length,
      citations: [],
      held: '',
    };
    blocks.set(index, block);
    const { part } = block;
    if (part.type === 'text') block.citations.push(...(part.citations ?? []));
    const isText = part.type === 'text' || part.type === 'refusal' || part.type === 'reasoning';
    return isText ? settled + growText(block, part.text) : settled;
  }

  function growPart(delta: Delta): string {
    const block = blocks.get(delta.index);
    if (!block) return '';
    const { part } = block;
    if (delta.opaque && part.type !== 'refusal' && part.type !== 'native') part.opaque = delta.opaque;
    if (delta.citation) block.citations.push(delta.citation);
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        return growText(block, delta.text ?? '', delta.logprobs);
      case 'call':
        part.args += delta.text ?? '';
        return '';
      case 'media':
        if (delta.text) part.data = (part.data ?? '') + delta.text;
        return '';
      case 'native':
        return '';
    }
  }

  function growText(block: OpenBlock, text: string, logprobs?: TokenLogprob[]): string {
    const { candidate, part } = block;
    const settled = text === '' ? '' : settleBare(candidate);
    if (part.type === 'reasoning') {
      if (text === '' || options.hideReasoning) return settled;
      const released = release(block);
      block.held = text;
      return settled + released;
    }
    stateOf(candidate).text += text;
    if (text === '' && !logprobs) return '';
    return settled + chunk(candidate, [{ text }], logprobs && { logprobsResult: encodeLogprobs(logprobs) });
  }

  function release(block: OpenBlock, opaque?: Opaque): string {
    const { held, candidate } = block;
    if (held === '' && !opaque) return '';
    block.held = '';
    return chunk(candidate, [{ text: held, thought: true, ...(opaque && { thoughtSignature: wrap(opaque) }) }]);
  }

  /** Calls and media go out whole; of a text only the signature is left to send. */
  function endPart(index: number): string {
    const block = blocks.get(index);
    if (!block) return '';
    blocks.delete(index);
    const { candidate, part, offset, citations } = block;
    const state = stateOf(candidate);
    const length = state.text.length - offset;
    state.citations.push(...citations.map((citation) => ({ citation, offset, length })));
    switch (part.type) {
      case 'reasoning':
        return release(block, part.opaque);
      case 'text':
        return part.opaque ? chunk(candidate, [{ text: '', thoughtSignature: wrap(part.opaque) }]) : '';
      case 'refusal':
        return '';
      case 'call': {
        const call = encodeCall(part);
        if (!call) {
          state.broken ??= part;
          return '';
        }
        const text = chunk(candidate, [call]);
        if (!isBare(part)) return text;
        state.bare = { call: text, behind: '' };
        return '';
      }
      default: {
        const encoded = encodePart(part, options);
        return encoded.length > 0 ? chunk(candidate, encoded) : '';
      }
    }
  }

  function endCandidate(candidate: number, finish: Finish): string {
    const state = stateOf(candidate);
    state.finish = finish;
    if (state.broken && !isCutOff(state.broken, finish)) encodePart(state.broken, options);
    return settleBare(candidate, isLimited(finish));
  }

  /** The last chunk holds the members that are known only at the end: the finish reason of each candidate, its sources, and the token counts. */
  function endMessage(total: Usage | undefined): string {
    const counts = total ?? usage;
    const metadata = { ...(counts && { usageMetadata: encodeUsage(counts) }), ...named() };
    const blocked = states[0]?.finish;
    if (blocked?.reason === 'blocked') return send({ promptFeedback: encodeBlock(blocked), ...metadata });
    const candidates = [...states.entries()].map(([index, state]) => {
      const grounding = state && encodeCitations(state.citations, state.text);
      return {
        content: { role: 'model', parts: [{ text: '' }] },
        ...encodeFinish(state?.finish ?? { reason: 'other' }),
        index,
        ...(grounding && { groundingMetadata: grounding }),
      };
    });
    return send({ candidates, ...metadata });
  }

  function fail(error: GatewayError): string {
    const released = [...blocks.values()].map((block) => release(block)).join('');
    if (first && options.array) return `[${JSON.stringify(encodeError(error, '').body)}]`;
    return released + encodeStreamError(error, '', options);
  }

  return {
    encode(event) {
      switch (event.type) {
        case 'message-start':
          return startMessage(event);
        case 'part-start':
          return startPart(event);
        case 'part-delta':
          return growPart(event);
        case 'part-end':
          return endPart(event.index);
        case 'candidate-end':
          return endCandidate(event.candidate, event.finish);
        case 'message-end':
          return endMessage(event.usage);
        case 'ping':
          return options.array ? '' : chunkOf(0, [{ text: '' }]);
        case 'error':
          return fail(event.error);
      }
    },
    end: () => (options.array ? (first ? '[]' : ']') : ''),
  };
}

/** Ends the array too, of which at least one element was sent. */
export function encodeStreamError(error: GatewayError, requestId: string, options: EncoderOptions): string {
  const { body } = encodeError(error, requestId);
  return options.array ? `,\r\n${JSON.stringify(body)}]` : frame(body) + BROKEN_OFF;
}

export function streamType({ array }: EncoderOptions): string {
  return array ? 'application/json; charset=utf-8' : 'text/event-stream';
}
