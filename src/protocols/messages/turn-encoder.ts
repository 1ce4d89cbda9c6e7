/** Turn encoder: turns of the hub to alternating messages, in which all results directly follow their calls. */

import type { CallPart, MediaPart, ResultPart, TextPart, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { ownState } from '../../core/opaque.ts';
import type { Target } from '../../core/operation.ts';
import { createCallIds, turnRuns } from '../../core/results.ts';
import { encodeCall, encodePart, encodeResult } from './block-encoder.ts';
import { NEWEST } from './rules.ts';

/** Placeholder for a required user message. */
const OPENING = 'Begin.';
const NO_RESULT = 'No result was given for this call.';

export interface EncodedTurns {
  messages: Json[];
  /** The last calls have no thinking of the target. */
  foreignLoop: boolean;
  /** Hub names of parts that earlier answers cannot hold. */
  dropped: string[];
}

/** `turns` without the leading system turns. */
export function encodeTurns(turns: Turn[], target: Target): EncodedTurns {
  const messages: Json[] = [];
  const uniqueId = createCallIds();
  /** Calls of the last assistant turn, by the client's ids. */
  let calls = new Map<string, string>();
  const dropped = new Set<string>();
  let foreignLoop = false;

  function add(role: Turn['role'], content: Json[]): void {
    const last = messages.at(-1);
    if (content.length === 0) return;
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }

  /** A system message is refused unless it follows one of the user and precedes one of the assistant. */
  function addSystem(content: Json[]): void {
    const isPlace = messages.at(-1)?.role === 'user' || messages.at(-1)?.role === 'system';
    if (isPlace) add('system', content);
    else add('user', tagged(content));
  }

  for (const group of turnRuns(turns)) {
    if (group[0]?.role === 'assistant') {
      calls = new Map(callsOf(group).map((call) => [call.id, uniqueId(plainId(call.id))]));
      const content = encodeAnswer(group, calls, { target, dropped });
      foreignLoop = calls.size > 0 && !content.some((block) => block.type.endsWith('thinking'));
      if (messages.length === 0 && content.length > 0) add('user', [{ type: 'text', text: OPENING }]);
      add('assistant', content);
    } else {
      add('user', encodeResults(group, calls, target));
      calls = new Map();
      for (const turn of group) if (!isLaterSystem(turn, target)) add('user', encodeInputTurn(turn, target));
      for (const turn of group) if (isLaterSystem(turn, target)) addSystem(encodeContent(turn, target));
    }
  }
  if (calls.size > 0) add('user', encodeResults([], calls, target));
  if (messages.length === 0) add('user', [{ type: 'text', text: OPENING }]);
  endWithUser(messages, target);
  return { messages, foreignLoop, dropped: [...dropped] };
}

/** The id of a call in letters that the protocol allows. */
function plainId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
}

function callsOf(group: Turn[]): CallPart[] {
  return group.flatMap((turn) => turn.parts).filter((part) => part.type === 'call');
}

/** Moves texts before the calls, but not across thinking. */
function encodeAnswer(
  group: Turn[],
  calls: Map<string, string>,
  { target, dropped }: { target: Target; dropped: Set<string> },
): Json[] {
  const blocks: Json[] = [];
  const uses: Json[] = [];
  /** Signatures and data of thinking that is there. */
  const states = new Set<string>();
  for (const part of group.flatMap((turn) => turn.parts)) {
    if (part.type === 'result') throw misplaced(part);
    if (part.type === 'call') {
      const state = stateBlock(part, states, target);
      if (state) blocks.push(...uses.splice(0), state);
      uses.push(encodeCall(part, calls.get(part.id) ?? part.id));
      continue;
    }
    const encoded = encodePart(part.type === 'media' ? inWords(part, dropped) : part, target);
    for (const block of encoded) states.add(block.signature ?? block.data);
    if (part.type === 'reasoning' && encoded.length > 0) blocks.push(...uses.splice(0));
    blocks.push(...encoded);
    const state = part.type === 'text' ? stateBlock(part, states, target) : undefined;
    if (state) blocks.push(...uses.splice(0), state);
  }
  // An answer that ends with thinking is refused.
  if (uses.length === 0) while (blocks.at(-1)?.type.endsWith('thinking')) blocks.pop();
  return [...blocks, ...uses];
}

/** Words for media, which no answer may hold. Only a file id stays, to be refused. */
function inWords(part: MediaPart, dropped: Set<string>): TextPart | MediaPart {
  const { kind, transcript, fileId } = part;
  if (transcript) return { type: 'text', text: transcript };
  if (fileId !== undefined) return part;
  dropped.add(`turns.parts.${kind}`);
  return { type: 'text', text: `[${kind}]` };
}

/** Thinking without a text here, whose signature came back on a call or on the text before it, unless it is there already. */
function stateBlock({ opaque }: CallPart | TextPart, states: Set<string>, { origin }: Target): Json {
  const state = ownState(opaque, origin);
  if (!state || states.has(state.value)) return undefined;
  states.add(state.value);
  if (state.kind !== 'signature') return { type: 'redacted_thinking', data: state.value };
  return { type: 'thinking', thinking: '', signature: state.value };
}

/** All results in the order of the calls; calls without one get an error for a result. */
function encodeResults(group: Turn[], calls: Map<string, string>, target: Target): Json[] {
  const results = new Map<string, ResultPart>();
  for (const part of group.flatMap((turn) => turn.parts)) {
    if (part.type !== 'result') continue;
    if (!calls.has(part.callId)) throw misplaced(part);
    results.set(part.callId, part);
  }
  return [...calls].map(([callId, id]) => {
    const missing: ResultPart = { type: 'result', callId, parts: [{ type: 'text', text: NO_RESULT }], isError: true };
    return encodeResult(results.get(callId) ?? missing, id, target);
  });
}

function misplaced(result: ResultPart): GatewayError {
  const message = `The result of tool call "${result.callId}" doesn't follow the turn that makes this call.`;
  return new GatewayError('invalid_request', message, { param: 'turns' });
}

/** A user or system turn in the words of a user. */
function encodeInputTurn(turn: Turn, target: Target): Json[] {
  const content = encodeContent(turn, target);
  return turn.role === 'system' ? tagged(content) : content;
}

function isLaterSystem({ role }: Turn, { rules }: Target): boolean {
  return role === 'system' && (rules.midSystem ?? NEWEST.midSystem);
}

/** A turn without its results. */
function encodeContent({ parts }: Turn, target: Target): Json[] {
  return parts.flatMap((part) => (part.type === 'result' || part.type === 'call' ? [] : encodePart(part, target)));
}

function tagged(content: Json[]): Json[] {
  return content.map((block) => ({ ...block, text: `<system>\n${block.text}\n</system>` }));
}

/** A turn paused for a server tool is sent unchanged. */
function isPaused({ content }: Json): boolean {
  return content.some((block: Json) => block.type === 'server_tool_use' || block.type?.endsWith('_tool_result'));
}

/** Refuses a final assistant turn (prefill) if unsupported, else trims the white space at its end. */
function endWithUser(messages: Json[], { rules }: Target): void {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || isPaused(last)) return;
  if (!(rules.prefill ?? NEWEST.prefill)) {
    const message = 'The model cannot continue a last assistant turn; end the conversation with a user turn.';
    throw new GatewayError('unsupported_parameter', message, { param: 'turns' });
  }
  const block = last.content.at(-1);
  if (block.type === 'text') block.text = block.text.trimEnd();
}
