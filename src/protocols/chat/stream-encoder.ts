/** Stream encoder: converts hub events to chunks for a client. */

import type { CallPart, ChatEvent, Citation, Finish, MediaPart, Opaque, OpenPart, Usage } from '../../core/chat.ts';
import { isBlank, type Json } from '../../core/json/json.ts';
import type { EncoderOptions } from '../../core/operation.ts';
import { isWritten } from '../../core/parts.ts';
import type { StreamEncoder } from '../../core/stream-codec.ts';
import { answerId, encodeCall, encodeLogprobs, encodeMedia } from './answer.ts';
import { encodeCitations } from './citations.ts';
import { encodeFinish } from './finish.ts';
import { encodeCallState, encodeDetail, encodeStateDetail, TEXT_STATE } from './reasoning.ts';
import { encodeTier, encodeUsage } from './usage.ts';

export const KEEP_ALIVE = ': ping\n\n';
const DONE = 'data: [DONE]\n\n';

/** State of one choice. `details` and `images` count those sent so far: official SDKs put lists together by `index`. */
interface CandidateState {
  index: number;
  started: boolean;
  /** Length of the content sent, in UTF-16 units. */
  sent: number;
  calls: CallPart[];
  details: number;
  images: number;
  refused: boolean;
  cited: { citation: Citation; from: number; part: number }[];
}

/**
 * An open part. `order` counts the calls of the choice; `detail` is the place of a reasoning in
 * `reasoning_details`, once it has one; `from` is where a text begins in its content.
 */
interface Open {
  state: CandidateState;
  part: OpenPart;
  order: number;
  detail?: number;
  from: number;
  length: number;
}

type Delta = Extract<ChatEvent, { type: 'part-delta' }>;

export function createStreamEncoder(options: EncoderOptions): StreamEncoder {
  const states = new Map<number, CandidateState>();
  const parts = new Map<number, Open>();
  let head = { id: answerId(''), object: 'chat.completion.chunk', created: options.created, model: options.model };
  let usage: Usage | undefined;

  /** Omits `usage` until it is known: clients of OpenRouter refuse a null. */
  function chunk(choices: Json[], counts?: Json): string {
    const body = { ...head, choices, ...(counts && { usage: counts, ...encodeTier(usage) }) };
    return `data: ${JSON.stringify(body)}\n\n`;
  }

  /** One delta of a choice; its first one carries the role. */
  function say(state: CandidateState, delta: Json, more: Json = {}): string {
    const role = state.started ? {} : { role: 'assistant' };
    state.started = true;
    return chunk([{ index: state.index, delta: { ...role, ...delta }, ...more, finish_reason: null }]);
  }

  function stateOf(index: number): CandidateState {
    let state = states.get(index);
    if (!state) {
      state = { index, started: false, sent: 0, calls: [], details: 0, images: 0, refused: false, cited: [] };
      states.set(index, state);
    }
    return state;
  }

  function startMessage(event: Extract<ChatEvent, { type: 'message-start' }>): string {
    head = { ...head, id: answerId(event.id), created: event.created ?? options.created };
    usage = event.usage;
    return say(stateOf(0), { content: '' });
  }

  function startPart(index: number, candidate: number, given: OpenPart): string {
    const state = stateOf(candidate);
    const first = state.started ? '' : say(state, { content: '' });
    if (isWritten(given)) settleLastCall(state);
    const part = { ...given };
    const open: Open = { state, part, order: 0, from: state.sent, length: 0 };
    parts.set(index, open);
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        return first + (part.text === '' ? '' : growText(open, part.text)) + carryState(open);
      case 'call': {
        open.order = state.calls.push(part) - 1;
        const details = part.opaque ? stateDetails(state, part.opaque, part.id) : {};
        return first + say(state, { tool_calls: [{ index: open.order, ...encodeCall(part) }], ...details });
      }
      case 'media':
      case 'native':
        return first;
    }
  }

  /** A call behind which the model wrote on has no arguments left that the output limit could have cut off. */
  function settleLastCall({ calls }: CandidateState): void {
    const last = calls.at(-1);
    if (last && !last.custom && isBlank(last.args)) last.args = '{}';
  }

  /** State at the start of a text or reasoning. */
  function carryState(open: Open): string {
    const { part } = open;
    if ((part.type !== 'text' && part.type !== 'reasoning') || !part.opaque) return '';
    return growState(open, part.opaque);
  }

  function detailOf(open: Open): number {
    open.detail ??= open.state.details++;
    return open.detail;
  }

  /** State of a part other than reasoning. */
  function stateDetails(state: CandidateState, opaque: Opaque, id: string): Json {
    return { reasoning_details: [encodeStateDetail(opaque, id, state.details++)] };
  }

  function growPart({ index, text, opaque, citation, logprobs }: Delta): string {
    const open = parts.get(index);
    if (!open) return '';
    const { state } = open;
    let output = text ? growText(open, text, logprobs && { logprobs: encodeLogprobs(logprobs) }) : '';
    if (!text && logprobs) output += say(state, { content: '' }, { logprobs: encodeLogprobs(logprobs) });
    if (citation) state.cited.push({ citation, from: open.from, part: index });
    return opaque ? output + growState(open, opaque) : output;
  }

  function growText(open: Open, text: string, more?: Json): string {
    const { state, part, order } = open;
    open.length += text.length;
    if (part.type !== 'call') settleLastCall(state);
    switch (part.type) {
      case 'text':
        state.sent += text.length;
        return say(state, { content: text }, more);
      case 'refusal':
        state.refused = true;
        return say(state, { refusal: text });
      case 'reasoning': {
        if (options.hideReasoning) return '';
        const details = [{ type: 'reasoning.text', text, index: detailOf(open) }];
        return say(state, { reasoning: text, reasoning_content: text, reasoning_details: details });
      }
      case 'call': {
        part.args += text;
        const kind = part.custom ? { custom: { input: text } } : { function: { arguments: text } };
        return say(state, { tool_calls: [{ index: order, ...kind }] });
      }
      case 'media':
        part.data = (part.data ?? '') + text;
        return '';
      case 'native':
        return '';
    }
  }

  /** A signature without its text is unusable: it isn't sent with hidden text, unless there was no text. */
  function growState(open: Open, opaque: Opaque): string {
    const { state, part, order, length } = open;
    switch (part.type) {
      case 'reasoning':
        if (options.hideReasoning && length > 0 && opaque.kind === 'signature') return '';
        return say(state, { reasoning_details: [encodeDetail(opaque, detailOf(open), length === 0 ? '' : undefined)] });
      case 'call':
        return say(state, {
          tool_calls: [{ index: order, ...encodeCallState(opaque) }],
          ...stateDetails(state, opaque, part.id),
        });
      case 'text':
        return say(state, stateDetails(state, opaque, TEXT_STATE));
      case 'media':
      case 'refusal':
      case 'native':
        return '';
    }
  }

  function endPart(index: number): string {
    const open = parts.get(index);
    if (!open) return '';
    if (open.part.type === 'media') return sayMedia(open.state, open.part);
    if (open.part.type !== 'call' || open.part.custom || !isBlank(open.part.args)) return '';
    return say(open.state, { tool_calls: [{ index: open.order, function: { arguments: '{}' } }] });
  }

  function sayMedia(state: CandidateState, part: MediaPart): string {
    const delta = encodeMedia(part);
    if (delta.images) delta.images = delta.images.map((image: Json) => ({ ...image, index: state.images++ }));
    return Object.keys(delta).length > 0 ? say(state, delta) : '';
  }

  /** All annotations in one late delta: some clients keep only the last one. */
  function endCandidate(candidate: number, finish: Finish): string {
    const state = stateOf(candidate);
    const entries = state.cited.map(({ citation, from, part }) => ({
      citation,
      text: { start: from, length: parts.get(part)?.length ?? 0 },
    }));
    const ending = encodeFinish(finish, { calls: state.calls, hasRefusal: state.refused });
    const late = encodeCitations(entries);
    if (finish.reason === 'refused' && finish.explanation && !state.refused) late.refusal = finish.explanation;
    const first = state.started && Object.keys(late).length === 0 ? '' : say(state, late);
    return first + chunk([{ index: candidate, delta: {}, ...ending }]);
  }

  function encode(event: ChatEvent): string {
    switch (event.type) {
      case 'message-start':
        return startMessage(event);
      case 'part-start':
        return startPart(event.index, event.candidate, event.part);
      case 'part-delta':
        return growPart(event);
      case 'part-end':
        return endPart(event.index);
      case 'candidate-end':
        return endCandidate(event.candidate, event.finish);
      case 'message-end':
        usage = event.usage ?? usage;
        return options.includeUsage ? chunk([], encodeUsage(usage, options.costOf)) : '';
      case 'ping':
        return KEEP_ALIVE;
      case 'error':
        throw event.error;
    }
  }

  return { encode, end: () => DONE };
}
