/** Whole responses of the messages protocol, from upstreams and for clients. */

import type { ChatResponse, Citation, Opaque, OpenPart } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { wrap } from '../../core/opaque.ts';
import type { EncoderOptions, Target } from '../../core/operation.ts';
import { isWritten } from '../../core/parts.ts';
import { decodeAnswerBlock } from './block-decoder.ts';
import { encodeInput } from './block-encoder.ts';
import { encodeCitation } from './citations.ts';
import { decodeFinish, encodeFinish, nothingSeen, see } from './finish.ts';
import { responseShape } from './response-shape.ts';
import { encodeUsage, mergeUsage, usageOf } from './usage.ts';

const NO_INPUT = '{}';

export function decodeResponse(given: Json, target: Target): ChatResponse {
  const body = responseShape(given);
  const blocks: Json[] = body.content ?? [];
  const parts = blocks.map((block) => decodeAnswerBlock(block, target.origin));
  const finish = decodeFinish(body) ?? { reason: 'other' };
  const last = parts.findLast(isWritten);
  // A call that the output limit cut off before its arguments has an empty input.
  const isCut = finish.reason === 'length' || finish.reason === 'context-full';
  if (isCut && last?.type === 'call' && last.args === NO_INPUT) last.args = '';
  const usage = mergeUsage(undefined, usageOf(body));
  return {
    id: body.id ?? '',
    model: body.model ?? target.model,
    candidates: [{ parts, finish }],
    ...(usage && { usage }),
  };
}

/** The first candidate only; the protocol has no others. */
export function encodeResponse(response: ChatResponse, options: EncoderOptions): Json {
  const { parts = [], finish = { reason: 'other' } } = response.candidates[0] ?? {};
  const seen = nothingSeen();
  const content = parts.flatMap((part) => {
    const blocks = encodeAnswerPart(part, options);
    see(seen, part, blocks.length > 0);
    return blocks;
  });
  return {
    id: messageId(response.id),
    type: 'message',
    role: 'assistant',
    model: options.model,
    content,
    ...encodeFinish(finish, seen),
    usage: encodeUsage(response.usage),
  };
}

/** Clients expect the prefix. */
export function messageId(id: string): string {
  const clean = id.replace(/[^a-zA-Z0-9_-]/g, '');
  return clean.startsWith('msg_') ? clean : `msg_${clean}`;
}

function encodeAnswerPart(part: OpenPart, { hideReasoning }: EncoderOptions): Json[] {
  const state = 'opaque' in part ? part.opaque : undefined;
  switch (part.type) {
    case 'text': {
      const carrier = state ? [carrierBlock(state)] : [];
      return part.text === '' ? carrier : [textBlock(part.text, part.citations), ...carrier];
    }
    case 'refusal':
      return part.text === '' ? [] : [textBlock(part.text)];
    case 'media':
      return part.transcript ? [textBlock(part.transcript)] : [];
    case 'reasoning':
      if (part.text === '' || hideReasoning) return state ? [hiddenBlock(state)] : [];
      return [{ type: 'thinking', thinking: part.text, signature: state ? wrap(state) : '' }];
    case 'call': {
      const use = { type: 'tool_use', id: part.id, name: part.name, input: encodeInput(part) };
      return state ? [carrierBlock(state), use] : [use];
    }
    case 'native':
      return part.protocol === 'messages' ? [part.value] : [];
  }
}

function textBlock(text: string, citations: Citation[] = []): Json {
  const wire = citations.map(encodeCitation).filter((citation) => citation !== undefined);
  return { type: 'text', text, ...(wire.length > 0 && { citations: wire }) };
}

/** State of a call or text: empty thinking is the one place where clients keep a signature. */
export function carrierBlock(state: Opaque): Json {
  return { type: 'thinking', thinking: '', signature: wrap(state) };
}

/** State of hidden reasoning. */
export function hiddenBlock(state: Opaque): Json {
  return { type: 'redacted_thinking', data: wrap(state) };
}

/** Answers of this protocol have no media, audio is replaced by its transcript, and no sources without a text. */
export function unshown(part: OpenPart): { name: string; url?: string } | undefined {
  if (part.type === 'text' && part.text === '' && part.citations) return { name: 'content.citations' };
  if (part.type !== 'media') return undefined;
  return { name: `content.${part.kind}`, ...(part.url && { url: part.url }) };
}
