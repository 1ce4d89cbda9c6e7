/** Stream encoder of the messages protocol: one block at a time, in ascending order, of types that every client knows. */

import type { ChatEvent, Finish, Opaque, OpenPart, Usage } from '../../core/chat.ts';
import { isBlank, type Json } from '../../core/json/json.ts';
import { wrap } from '../../core/opaque.ts';
import type { EncoderOptions } from '../../core/operation.ts';
import type { StreamEncoder } from '../../core/stream-codec.ts';
import { encodeInput } from './block-encoder.ts';
import { encodeCitation } from './citations.ts';
import { encodeErrorEvent } from './errors.ts';
import { encodeFinish, nothingSeen, see } from './finish.ts';
import { carrierBlock, hiddenBlock, messageId } from './response.ts';
import { encodeUsage } from './usage.ts';

type Delta = Extract<ChatEvent, { type: 'part-delta' }>;

/** The part that is being written, grown as its deltas come. */
interface Writing {
  index: number;
  part: OpenPart;
  /** Its block has been opened; texts wait for their first words, so that no empty block is sent. */
  opened: boolean;
  /** Citations of a text that has no words yet; those of one that gets none are left out with it. */
  cited: Json[];
  opaque?: Opaque;
}

/** Encoding throws `upstream_error` for a failure reason at the end. */
export function createStreamEncoder(options: EncoderOptions): StreamEncoder {
  const seen = nothingSeen();
  let usage: Usage | undefined;
  let finish: Finish = { reason: 'other' };
  let writing: Writing | undefined;
  let blocks = 0;
  let started = false;
  let ended = false;

  function encode(event: ChatEvent): string {
    if (ended) return '';
    switch (event.type) {
      case 'message-start':
        usage = event.usage;
        return start(event.id);
      case 'part-start':
        return event.candidate === 0 ? startPart(event.index, event.part) : '';
      case 'part-delta':
        return writing?.index === event.index ? growPart(writing, event) : '';
      case 'part-end':
        return writing?.index === event.index ? endPart(writing) : '';
      case 'candidate-end':
        if (event.candidate === 0) finish = event.finish;
        return '';
      case 'message-end':
        usage = event.usage ?? usage;
        return stop();
      case 'ping':
        return started ? frame({ type: 'ping' }) : '';
      case 'error':
        ended = true;
        return encodeErrorEvent(event.error);
    }
  }

  function start(id: string): string {
    started = true;
    const about = { id: messageId(id), type: 'message', role: 'assistant', model: options.model, content: [] };
    // Output is counted at the end: what a beginning promises must not shrink, and some clients add both up.
    const input = usage && { ...usage, output: 0, reasoning: undefined };
    const message = { ...about, stop_reason: null, stop_sequence: null, usage: encodeUsage(input) };
    return frame({ type: 'message_start', message });
  }

  function startPart(index: number, part: OpenPart): string {
    const opaque = 'opaque' in part ? part.opaque : undefined;
    writing = { index, part: { ...part }, opened: false, cited: [], opaque };
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        return part.text === '' ? '' : writeText(writing, part.text);
      case 'call': {
        const carrier = opaque ? whole(carrierBlock(opaque)) : '';
        writing.opaque = undefined;
        const text = carrier + open(writing, { type: 'tool_use', id: part.id, name: part.name, input: {} });
        return part.args === '' || part.custom ? text : text + textDelta('input_json_delta', 'partial_json', part.args);
      }
      case 'media':
      case 'native':
        return '';
    }
  }

  function growPart(current: Writing, { text, opaque, citation }: Delta): string {
    if (opaque) current.opaque = opaque;
    const words = text ? growText(current, text) : '';
    const wire = citation && current.part.type === 'text' ? encodeCitation(citation) : undefined;
    if (!wire) return words;
    if (current.opened) return words + delta({ type: 'citations_delta', citation: wire });
    current.cited.push(wire);
    return words;
  }

  function growText(current: Writing, text: string): string {
    const { part } = current;
    switch (part.type) {
      case 'text':
      case 'refusal':
      case 'reasoning':
        part.text += text;
        return writeText(current, text);
      case 'call':
        part.args += text;
        return part.custom ? '' : textDelta('input_json_delta', 'partial_json', text);
      case 'media':
        part.data = (part.data ?? '') + text;
        return '';
      case 'native':
        return '';
    }
  }

  function writeText(current: Writing, text: string): string {
    if (current.part.type === 'reasoning') {
      if (options.hideReasoning) return '';
      const opening = current.opened ? '' : open(current, { type: 'thinking', thinking: '', signature: '' });
      return opening + textDelta('thinking_delta', 'thinking', text);
    }
    return openText(current) + textDelta('text_delta', 'text', text);
  }

  function openText(current: Writing): string {
    if (current.opened) return '';
    const opening = open(current, { type: 'text', text: '' });
    return opening + current.cited.map((citation) => delta({ type: 'citations_delta', citation })).join('');
  }

  function open(current: Writing, block: Json): string {
    current.opened = true;
    return frame({ type: 'content_block_start', index: blocks, content_block: block });
  }

  function delta(wire: Json): string {
    return frame({ type: 'content_block_delta', index: blocks, delta: wire });
  }

  /** The event of most frames, written without an object for each. */
  function textDelta(type: string, member: string, text: string): string {
    const wire = `{"type":"${type}","${member}":${JSON.stringify(text)}}`;
    return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${blocks},"delta":${wire}}\n\n`;
  }

  function close(): string {
    return frame({ type: 'content_block_stop', index: blocks++ });
  }

  function endPart(current: Writing): string {
    const { part, opaque, opened } = current;
    writing = undefined;
    const written = lastWords(current);
    see(seen, part, opened || written !== '');
    // The state of media that this protocol does not show would be taken for that of the part beside it.
    if (part.type === 'reasoning' || part.type === 'media' || !opaque) return written;
    return written + whole(carrierBlock(opaque));
  }

  /** Remaining events at the end of a part. */
  function lastWords({ part, opaque, opened }: Writing): string {
    switch (part.type) {
      case 'reasoning':
        if (!opened) return opaque ? whole(hiddenBlock(opaque)) : '';
        // The AI SDK sends only thinking with a signature back.
        return delta({ type: 'signature_delta', signature: opaque ? wrap(opaque) : '' }) + close();
      case 'call': {
        const lacksObject = part.args !== '' && isBlank(part.args);
        const input = part.custom ? JSON.stringify(encodeInput(part)) : lacksObject ? '{}' : '';
        return (input && textDelta('input_json_delta', 'partial_json', input)) + close();
      }
      case 'text':
      case 'refusal':
        return opened ? close() : '';
      case 'media':
        return part.transcript ? whole({ type: 'text', text: part.transcript }) : '';
      case 'native':
        return part.protocol === 'messages' ? whole(part.value) : '';
    }
  }

  /** A complete block. Clients take its content from deltas where there are some. */
  function whole(block: Json): string {
    const pieces = piecesOf(block);
    const opening = frame({ type: 'content_block_start', index: blocks, content_block: pieces.start });
    return opening + pieces.deltas.map(delta).join('') + close();
  }

  function stop(): string {
    const opening = started ? '' : start('');
    const last = { type: 'message_delta', delta: encodeFinish(finish, seen), usage: encodeUsage(usage) };
    ended = true;
    return opening + frame(last) + frame({ type: 'message_stop' });
  }

  return { encode, end: () => '' };
}

function piecesOf(block: Json): { start: Json; deltas: Json[] } {
  switch (block.type) {
    case 'text':
      return { start: { ...block, text: '' }, deltas: [{ type: 'text_delta', text: block.text }] };
    case 'thinking':
      return {
        start: { ...block, signature: '' },
        deltas: [{ type: 'signature_delta', signature: block.signature }],
      };
    case 'server_tool_use':
    case 'mcp_tool_use':
      return {
        start: { ...block, input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
      };
    default:
      return { start: block, deltas: [] };
  }
}

function frame(data: Json): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
}
