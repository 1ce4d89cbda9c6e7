/** Part sequencer: orders interleaved deltas, for wires without block boundaries, into events of one part after another. */

import type { CallPart, ChatEvent, Citation, Opaque, OpenPart, TokenLogprob } from './chat.ts';

export type TextType = 'text' | 'reasoning' | 'refusal';

export interface TextDelta {
  text?: string;
  opaque?: Opaque;
  citation?: Citation;
  logprobs?: TokenLogprob[];
  /** Begins a part of its own, also behind one of its kind. */
  apart?: boolean;
}

export interface CallDelta {
  id?: string;
  name?: string;
  args?: string;
  custom?: boolean;
  opaque?: Opaque;
}

export interface PartWriter {
  /** Appends text, reasoning or a refusal; opens a new part if another kind is open, once calls are complete. */
  text(candidate: number, type: TextType, delta: TextDelta): ChatEvent[];
  /** Appends to the call with the wire key `key`. Interleaved calls are emitted one after another. */
  call(candidate: number, key: string | number, delta: CallDelta): ChatEvent[];
  /** Appends text to the open part of the candidate, as the last delta did; undefined where something waits for a call to end. */
  grow(candidate: number, text: string): ChatEvent[] | undefined;
  /** Adds a complete part. */
  whole(candidate: number, part: OpenPart): ChatEvent[];
  /** Ends all open parts; call it before `candidate-end`. */
  close(candidate: number): ChatEvent[];
}

interface OpenCall {
  key: string | number;
  index: number;
  args: Balance;
}

/** Open part of one candidate, and queued parts that wait for an incomplete call: other calls, then texts. */
interface CandidateState {
  text?: { type: TextType; index: number };
  call?: OpenCall;
  waiting: Map<string | number, CallDelta>;
  held: { type: TextType; delta: TextDelta }[];
  closed: Set<string | number>;
}

export function createPartWriter(): PartWriter {
  const states: CandidateState[] = [];
  let count = 0;

  function stateOf(candidate: number): CandidateState {
    states[candidate] ??= { waiting: new Map(), held: [], closed: new Set() };
    return states[candidate];
  }

  function closeText(state: CandidateState): ChatEvent[] {
    if (!state.text) return [];
    const { index } = state.text;
    state.text = undefined;
    return [{ type: 'part-end', index }];
  }

  function closeCall(state: CandidateState): ChatEvent[] {
    if (!state.call) return [];
    const { index } = state.call;
    state.closed.add(state.call.key);
    state.call = undefined;
    return [{ type: 'part-end', index }];
  }

  function openCall(state: CandidateState, candidate: number, key: string | number, delta: CallDelta): ChatEvent[] {
    const index = count++;
    const { id = '', name = '', args = '', custom, opaque } = delta;
    state.call = { key, index, args: createBalance() };
    state.call.args.add(args);
    const part: CallPart = { type: 'call', id, name, args: '', ...(custom && { custom }), ...(opaque && { opaque }) };
    const events: ChatEvent[] = [{ type: 'part-start', index, candidate, part }];
    if (args !== '') events.push({ type: 'part-delta', index, text: args });
    return events;
  }

  /** Opens queued calls while the open one is complete; all of them at the end of the stream. */
  function advance(state: CandidateState, candidate: number, final: boolean): ChatEvent[] {
    const events: ChatEvent[] = [];
    for (const [key, delta] of state.waiting) {
      if (state.call && !final && !state.call.args.closed()) break;
      events.push(...closeCall(state));
      state.waiting.delete(key);
      events.push(...openCall(state, candidate, key, delta));
    }
    return events;
  }

  function writeText(state: CandidateState, candidate: number, type: TextType, delta: TextDelta): ChatEvent[] {
    const events: ChatEvent[] = [];
    if (state.text?.type !== type || delta.apart) {
      events.push(...closeText(state), ...closeCall(state));
      const index = count++;
      state.text = { type, index };
      events.push({ type: 'part-start', index, candidate, part: { type, text: '' } });
    }
    const { index } = state.text as { index: number };
    const { text, opaque, citation, logprobs } = delta;
    if (text || opaque || citation || logprobs)
      events.push({ type: 'part-delta', index, text, opaque, citation, logprobs });
    return events;
  }

  function release(state: CandidateState, candidate: number): ChatEvent[] {
    return state.held.splice(0).flatMap(({ type, delta }) => writeText(state, candidate, type, delta));
  }

  function settle(state: CandidateState, candidate: number): ChatEvent[] {
    const calls = [...closeText(state), ...advance(state, candidate, true), ...closeCall(state)];
    return [...calls, ...release(state, candidate), ...closeText(state)];
  }

  function call(candidate: number, key: string | number, delta: CallDelta): ChatEvent[] {
    const state = stateOf(candidate);
    if (state.closed.has(key)) return [];
    const events = closeText(state);
    if (state.call?.key === key) {
      const { index, args } = state.call;
      args.add(delta.args ?? '');
      if (delta.args || delta.opaque) {
        events.push({ type: 'part-delta', index, text: delta.args, opaque: delta.opaque });
      }
    } else {
      const waiting = state.waiting.get(key);
      state.waiting.set(key, waiting ? joined(waiting, delta) : delta);
    }
    events.push(...advance(state, candidate, false));
    return state.held.length === 0 || isBusy(state) ? events : [...events, ...release(state, candidate)];
  }

  return {
    text(candidate, type, delta) {
      const state = stateOf(candidate);
      if (!isBusy(state)) return writeText(state, candidate, type, delta);
      state.held.push({ type, delta });
      return [];
    },

    call,

    grow(candidate, text) {
      if (states.some(({ waiting, held }) => waiting.size > 0 || held.length > 0)) return undefined;
      const state = stateOf(candidate);
      if (state.text) return writeText(state, candidate, state.text.type, { text });
      return state.call ? call(candidate, state.call.key, { args: text }) : [];
    },

    whole(candidate, part) {
      const settled = settle(stateOf(candidate), candidate);
      const index = count++;
      return [...settled, { type: 'part-start', index, candidate, part }, { type: 'part-end', index }];
    },

    close: (candidate) => settle(stateOf(candidate), candidate),
  };
}

/**
 * Whether the model wrote a part, as far as it is known. Sources, searches told beside the parts, and state alone it did not: they
 * come at the end also of an answer that the output limit cut, so a call before them may lack its arguments.
 */
export function isWritten(part: OpenPart): boolean {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return part.text !== '';
    case 'native':
      return part.protocol !== '';
    case 'call':
    case 'media':
      return true;
  }
}

/** Whether fragments of calls may follow, so that no other part can begin. */
function isBusy({ call, waiting }: CandidateState): boolean {
  return waiting.size > 0 || (call !== undefined && !call.args.closed());
}

const QUOTE = 34;
const BACKSLASH = 92;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Detects the end of a JSON object in fragments, without buffering them. */
export interface Balance {
  add(fragment: string): void;
  closed(): boolean;
}

export function createBalance(): Balance {
  let depth = 0;
  let begun = false;
  let quoted = false;
  let escaped = false;
  return {
    add(fragment) {
      // With an iterator it takes twice the time.
      for (let position = 0; position < fragment.length; position++) {
        const code = fragment.charCodeAt(position);
        if (escaped) escaped = false;
        else if (code === BACKSLASH) escaped = quoted;
        else if (code === QUOTE) quoted = !quoted;
        else if (!quoted && code === OPEN_BRACE) {
          begun = true;
          depth++;
        } else if (!quoted && code === CLOSE_BRACE) depth--;
      }
    },
    closed: () => begun && depth <= 0 && !quoted,
  };
}

function joined(before: CallDelta, more: CallDelta): CallDelta {
  return {
    id: before.id ?? more.id,
    name: before.name ?? more.name,
    args: (before.args ?? '') + (more.args ?? ''),
    custom: before.custom ?? more.custom,
    opaque: more.opaque ?? before.opaque,
  };
}
