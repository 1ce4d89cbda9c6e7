/** Request decoder of the messages protocol. */

import type { ChatRequest, Effort, Opaque, Part, ReasoningRequest, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { ENVELOPE_MARK } from '../../core/opaque.ts';
import { decodeBlock, decodeContent } from './block-decoder.ts';
import { decodeMark, markLast } from './cache.ts';
import { decodeTools } from './tool-decoder.ts';
import { unreadIn } from './unread.ts';

/** Fields that affect the answer and have no equivalent in other protocols; refused. */
const UNTRANSLATABLE = ['container', 'mcp_servers'];

/** First line of a client's system prompt that changes with every client version and would invalidate prefix caches. */
const BILLING_HEADER = 'x-anthropic-billing-header:';

/** `body` has passed `check`. Throws `unsupported_*` for content that cannot be translated. */
export function decodeRequest(body: Json): ChatRequest {
  for (const field of UNTRANSLATABLE) if (given(body[field])) refuse(field);
  const request: ChatRequest = { stream: body.stream === true, turns: [], tools: [], dropped: [] };
  if (given(body.thread)) decodeThread(body.thread, request.dropped);
  request.turns = decodeTurns(body, request.dropped);
  decodeTools(body, request);
  decodeSampling(body, request);
  const reasoning = decodeReasoning(body);
  if (reasoning) request.reasoning = reasoning;
  const format = body.output_config?.format ?? body.output_format;
  if (format) request.format = { type: 'schema', schema: format.schema };
  if (body.metadata?.user_id) request.user = body.metadata.user_id;
  if (body.speed === 'fast') {
    request.tier = 'priority';
    if (body.service_tier === 'standard_only') request.dropped.push('service_tier');
  } else if (body.service_tier) request.tier = body.service_tier === 'auto' ? 'auto' : 'default';
  request.dropped.push(...unreadIn(body));
  const mark = decodeMark(body.cache_control);
  if (mark) markLast(request, mark);
  return request;
}

function given(value: Json): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

function refuse(field: string): never {
  const message = `${field} only works with the model's own provider; this model is reached through another protocol.`;
  throw new GatewayError('unsupported_parameter', message, { param: field });
}

/** Nothing is kept between calls: a thread begins like any conversation, and the official SDK begins a new one where its thread isn't found. */
function decodeThread(thread: Json, dropped: string[]): void {
  if (thread.type === 'continue') {
    const message = 'thread is not known here: send the whole conversation in messages.';
    throw new GatewayError('not_found', message, { param: 'thread' });
  }
  dropped.push('thread');
}

function decodeTurns(body: Json, dropped: string[]): Turn[] {
  const turns: Turn[] = [];
  const system = decodeContent(withoutBillingHeader(body.system)).filter(isPresent);
  if (system.length > 0) turns.push({ role: 'system', parts: system });
  for (const message of body.messages) {
    const parts =
      message.role === 'system'
        ? systemParts(message.content, dropped)
        : attachStates(message.content).filter(isPresent);
    if (parts.length > 0) turns.push({ role: message.role, parts });
  }
  return turns;
}

function withoutBillingHeader(system: Json): Json {
  if (!Array.isArray(system) || !beginsWithHeader(system[0])) return system;
  return system.slice(1);
}

function beginsWithHeader(block: Json): boolean {
  return typeof block?.text === 'string' && block.text.startsWith(BILLING_HEADER);
}

/** System turns hold text only; tools that such a turn adds or takes away are among those of the request anyway. */
function systemParts(content: Json, dropped: string[]): Part[] {
  if (!Array.isArray(content)) return decodeContent(content);
  const texts = content.filter((block) => block.type === 'text');
  dropped.push(...content.filter((block) => block.type !== 'text').map((block) => `messages.content.${block.type}`));
  return decodeContent(texts);
}

/**
 * State of a call or text from another provider is carried by an empty thinking block: before the call, or else after
 * the text. It is moved back to its part here.
 */
function attachStates(content: Json): Part[] {
  if (!Array.isArray(content)) return decodeContent(content);
  const parts: Part[] = [];
  let carried: Opaque | undefined;

  function attachToLast(opaque: Opaque | undefined): void {
    const last = parts.at(-1);
    if (!opaque) return;
    if (last?.type !== 'text' && last?.type !== 'call') parts.push({ type: 'reasoning', text: '', opaque });
    else if (last.opaque) parts.push({ type: 'text', text: '', opaque });
    else last.opaque = opaque;
  }

  for (const block of content) {
    const decoded = decodeBlock(block);
    const [first] = decoded;
    if (first?.type === 'call' && carried) first.opaque = carried;
    else attachToLast(carried);
    carried = isCarrier(block) && first?.type === 'reasoning' ? first.opaque : undefined;
    if (!carried) parts.push(...decoded);
  }
  attachToLast(carried);
  return parts;
}

function isCarrier(block: Json): boolean {
  return block.type === 'thinking' && block.thinking === '' && String(block.signature).startsWith(ENVELOPE_MARK);
}

/** Empty texts are dropped, unless they carry state. */
function isPresent(part: Part): boolean {
  return part.type !== 'text' || part.text !== '' || part.opaque !== undefined;
}

function decodeSampling(body: Json, request: ChatRequest): void {
  if (typeof body.max_tokens === 'number') request.maxTokens = body.max_tokens;
  if (typeof body.temperature === 'number') request.temperature = body.temperature;
  if (typeof body.top_p === 'number') request.topP = body.top_p;
  if (typeof body.top_k === 'number') request.topK = body.top_k;
  if (given(body.stop_sequences)) request.stop = body.stop_sequences;
}

function decodeReasoning(body: Json): ReasoningRequest | undefined {
  const thinking = isObject(body.thinking) ? body.thinking : undefined;
  const effort = effortIn(body);
  if (thinking?.type === 'disabled' || thinking?.type === 'between_tools') return { effort: 'none' };
  if (!thinking && !effort) return undefined;
  const reasoning: ReasoningRequest = {};
  if (effort) reasoning.effort = effort;
  // With interleaved thinking a budget may be larger than the output; elsewhere it is a part of it.
  if (thinking?.type === 'enabled') reasoning.budget = Math.min(thinking.budget_tokens, largestBudget(body));
  if (thinking?.type === 'adaptive' && !effort) reasoning.budget = -1;
  if (thinking?.display === 'omitted') reasoning.visible = false;
  if (thinking?.display === 'summarized') reasoning.visible = true;
  return reasoning;
}

/** The effort that the last system message with one sets, for all answers behind it; else that of the request. */
function effortIn({ messages, output_config }: Json): Effort | undefined {
  const setting = messages.findLast((message: Json) => message.role === 'system' && message.output_config?.effort);
  return (setting ?? { output_config }).output_config?.effort ?? undefined;
}

function largestBudget({ max_tokens }: Json): number {
  return typeof max_tokens === 'number' ? Math.max(1, max_tokens - 1) : Number.POSITIVE_INFINITY;
}
