/** Stream decoder of Converse. Texts have no start; counts follow the end of the answer. */

import type { ChatEvent, Finish, OpenPart, Usage } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, parseObject, readObject } from '../../core/json/json.ts';
import type { Target } from '../../core/operation.ts';
import type { SseEvent } from '../../core/sse.ts';
import type { StreamDecoder } from '../../core/stream-codec.ts';
import { decodeFinish, decodeUsage } from './finish.ts';
import { ANSWER_TOOL } from './format.ts';
import { decodeCitation, decodeMedia, isServerTool, native, redacted, signatureOf } from './response.ts';

/** The open block. One that is passed on as a whole is collected until it ends. */
interface OpenBlock {
  index: number;
  type: 'text' | 'reasoning' | 'call' | 'whole';
  /** Index of its part. */
  part: number;
  /** Text of the part if nothing follows. */
  given?: string;
  /** A call without arguments so far. */
  isBare?: boolean;
  collected?: CollectedBlock;
}

interface CollectedBlock {
  block: Json;
  /** Fragments of the input of a tool. */
  input: string;
  /** Pieces of an image. */
  bytes: Buffer[];
}

export function createStreamDecoder(target: Target): StreamDecoder {
  let open: OpenBlock | undefined;
  /** Indexes of calls that another block ended, or that ended without arguments. */
  const broken = new Set<number>();
  let parts = 0;
  let called = false;
  let started = false;
  let finish: Finish | undefined;
  let usage: Usage | undefined;
  let ended = false;

  function decode({ event, data }: SseEvent): ChatEvent[] {
    if (ended || (finish && event !== 'metadata')) return [];
    const frame: Json = readObject(data);
    if (!frame) return fail('The upstream sent an event that is not valid JSON.');
    switch (event) {
      case 'messageStart':
        return begin();
      case 'contentBlockStart':
        return isObject(frame.start) ? [...begin(), ...breakOff(), ...start(indexOf(frame), frame.start)] : begin();
      case 'contentBlockDelta':
        return isObject(frame.delta) ? [...begin(), ...grow(indexOf(frame), frame.delta)] : begin();
      case 'contentBlockStop':
        // A citation of the text may follow in a block of its own.
        return open?.type === 'text' || open?.index !== indexOf(frame) ? [] : close();
      case 'messageStop': {
        const events = [...begin(), ...close()];
        finish = decodeFinish(frame.stopReason, called);
        return events;
      }
      case 'metadata':
        usage = decodeUsage(frame.usage, frame) ?? usage;
        return finish ? end(finish) : [];
      default:
        return [];
    }
  }

  function begin(): ChatEvent[] {
    if (started) return [];
    started = true;
    return [{ type: 'message-start', id: '', model: target.model }];
  }

  function openPart(index: number, type: OpenBlock['type'], part: OpenPart): ChatEvent[] {
    open = { index, type, part: parts++ };
    return [{ type: 'part-start', index: open.part, candidate: 0, part }];
  }

  function collect(index: number, block: Json): ChatEvent[] {
    open = { index, type: 'whole', part: 0, collected: { block, input: '', bytes: [] } };
    return [];
  }

  function start(index: number, { toolUse, toolResult, image }: Json): ChatEvent[] {
    broken.delete(index);
    if (isObject(toolUse)) {
      if (isServerTool(toolUse.type)) return collect(index, { toolUse });
      if (toolUse.name === ANSWER_TOOL) {
        const events = openPart(index, 'call', { type: 'text', text: '' });
        if (open) open.given = '{}';
        return events;
      }
      called = true;
      const { toolUseId, name } = toolUse;
      const call = { id: String(toolUseId ?? ''), name: String(name ?? ''), args: '' };
      const events = openPart(index, 'call', { type: 'call', ...call });
      if (open) open.isBare = true;
      return events;
    }
    if (isObject(toolResult)) return collect(index, { toolResult: { ...toolResult, content: [] } });
    return isObject(image) ? collect(index, { image }) : [];
  }

  function grow(index: number, delta: Json): ChatEvent[] {
    const collected = open?.index === index ? open.collected : undefined;
    if (collected) {
      extend(collected, delta);
      return [];
    }
    const { text, toolUse, reasoningContent, citation } = delta;
    if (typeof text === 'string') return [...opened(index, 'text'), ...added({ text })];
    if (isObject(citation)) {
      const isApart = open?.type === 'text' && isObject(citation.location?.web);
      return [...(isApart ? [] : opened(index, 'text')), ...added({ citation: decodeCitation(citation) })];
    }
    if (isObject(reasoningContent)) return growReasoning(index, reasoningContent);
    if (typeof toolUse?.input !== 'string' || toolUse.input === '') return [];
    if (open?.index === index && open.type === 'call') return added({ text: toolUse.input });
    return broken.has(index) ? fail('The upstream mixed the arguments of two tool calls.') : [];
  }

  function growReasoning(index: number, { text, signature, redactedContent }: Json): ChatEvent[] {
    if (typeof redactedContent === 'string') {
      const closed = breakOff();
      return [...closed, ...openPart(index, 'whole', redacted(redactedContent, target.origin)), ...close()];
    }
    const opaque = signatureOf(signature, target.origin);
    const words = typeof text === 'string' ? text : undefined;
    if (!opaque && words === undefined) return [];
    return [...opened(index, 'reasoning'), ...added({ ...(words && { text: words }), ...(opaque && { opaque }) })];
  }

  /** Makes the open part one of the block and type. */
  function opened(index: number, type: 'text' | 'reasoning'): ChatEvent[] {
    if (open?.index === index && open.type === type) return [];
    return [...breakOff(), ...openPart(index, type, { type, text: '' })];
  }

  function added(delta: Omit<Extract<ChatEvent, { type: 'part-delta' }>, 'type' | 'index'>): ChatEvent[] {
    const isEmpty = Object.values(delta).every((value) => value === '');
    if (!open || isEmpty) return [];
    delete open.given;
    delete open.isBare;
    return [{ type: 'part-delta', index: open.part, ...delta }];
  }

  /** Ends the open block for another one; the rest of a call can no longer be decoded. */
  function breakOff(): ChatEvent[] {
    if (open?.type === 'call') broken.add(open.index);
    return close();
  }

  function close(): ChatEvent[] {
    if (!open) return [];
    const { collected, part: index, given, isBare } = open;
    if (isBare) broken.add(open.index);
    open = undefined;
    if (!collected && given)
      return [
        { type: 'part-delta', index, text: given },
        { type: 'part-end', index },
      ];
    if (!collected) return [{ type: 'part-end', index }];
    const part = wholeOf(collected, target);
    const own = parts++;
    return [
      { type: 'part-start', index: own, candidate: 0, part },
      { type: 'part-end', index: own },
    ];
  }

  /** The counts come last: a client that leaves at the end of the candidate has not left before them. */
  function end(finish: Finish): ChatEvent[] {
    ended = true;
    return [
      { type: 'candidate-end', candidate: 0, finish },
      { type: 'message-end', ...(usage && { usage }) },
    ];
  }

  function fail(message: string): ChatEvent[] {
    ended = true;
    return [{ type: 'error', error: new GatewayError('upstream_error', message) }];
  }

  return {
    decode,
    end() {
      if (ended) return [];
      return finish ? end(finish) : fail('The upstream closed its response before the end.');
    },
    usage: () => usage,
  };
}

function extend(collected: CollectedBlock, { toolUse, toolResult, image }: Json): void {
  const { block, bytes } = collected;
  if (typeof toolUse?.input === 'string') collected.input += toolUse.input;
  if (Array.isArray(toolResult)) block.toolResult?.content.push(...toolResult);
  if (typeof image?.source?.bytes === 'string') bytes.push(Buffer.from(image.source.bytes, 'base64'));
}

function wholeOf({ block, input, bytes }: CollectedBlock, target: Target): OpenPart {
  const { toolUse, image } = block;
  if (toolUse) return native({ toolUse: { ...toolUse, input: parseObject(input) ?? {} } }, target);
  const source = { bytes: Buffer.concat(bytes).toString('base64') };
  return (image && decodeMedia('image', { ...image, source })) ?? native(block, target);
}

function indexOf({ contentBlockIndex }: Json): number {
  return Number.isInteger(contentBlockIndex) ? contentBlockIndex : 0;
}
