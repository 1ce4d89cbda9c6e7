/** Items of an answer, one after another, and the events by which a stream tells them. A whole answer has the same items. */

import type {
  CallPart,
  ChatEvent,
  Finish,
  MediaPart,
  Opaque,
  OpenPart,
  ReasoningPart,
  RefusalPart,
  TextPart,
} from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isBlank, type Json, parseObject } from '../../core/json/json.ts';
import { wrap } from '../../core/opaque.ts';
import { isWritten } from '../../core/parts.ts';
import type { HiddenState } from '../../core/stored-access.ts';
import { builtInPrefix, encodeBuiltInCall } from './built-in-calls.ts';
import { createMessageWriter, type Emit, type ItemPlace, type MessageWriter } from './encode-stream-message.ts';
import { createSearchWriter } from './encode-stream-search.ts';
import { itemId } from './item-id.ts';
import type { Echo } from './response-object.ts';
import { EMPTY_STATE } from './state.ts';

type Delta = Extract<ChatEvent, { type: 'part-delta' }>;

export interface ItemWriter {
  start(index: number, part: OpenPart): void;
  grow(delta: Delta): void;
  end(index: number): void;
  /** Ends the last item. Throws `upstream_error` for a call without valid arguments, unless the output limit broke it off. */
  finish(finish: Finish): void;
  /** The complete items. */
  readonly output: Json[];
}

/** The part at hand. */
interface Writing {
  index: number;
  part: OpenPart;
  /** A text has been opened in the message. */
  isOpen?: boolean;
  /** The item of a part that has one of its own, once it has been opened. */
  place?: ItemPlace;
  opaque?: Opaque | undefined;
}

const NO_ARGUMENTS = '{}';
/** Said by a model that refuses without giving a reason. */
const REFUSAL = 'The model refused to answer.';

export function createItemWriter(
  emit: Emit,
  answerId: string,
  { includesState, includesSources, builtIns, hidden }: Echo & { hidden?: HiddenState[] | undefined },
): ItemWriter {
  const output: Json[] = [];
  let message: MessageWriter | undefined;
  let writing: Writing | undefined;
  /** The last call, if its arguments are not complete JSON. */
  let broken: { part: CallPart; place?: ItemPlace | undefined } | undefined;
  /** The last call if it has no arguments, held back because the output limit may have cut them. */
  let bare: { current: Writing; part: CallPart } | undefined;
  /** What came behind such a call that the model did not write, held back so that items keep their order. */
  const late: (() => void)[] = [];
  let refused = false;
  let count = 0;
  const searches = createSearchWriter({
    emit,
    add,
    done,
    includesSources,
    nextPlace() {
      closeMessage();
      return nextPlace('ws');
    },
  });

  function nextPlace(prefix: string): ItemPlace {
    const index = count++;
    return { id: itemId(prefix, answerId, index), index };
  }

  function add(place: ItemPlace, item: Json): void {
    emit('output_item.added', { output_index: place.index, item });
  }

  function done(place: ItemPlace, item: Json): void {
    emit('output_item.done', { output_index: place.index, item });
    output.push(item);
  }

  function closeMessage(status: 'completed' | 'incomplete' = 'completed'): void {
    if (message) output.push(message.close(status));
    message = undefined;
  }

  /** State that has no item of its own: of a call before it, of a text after it, of reasoning without text. */
  function carry(opaque: Opaque | undefined): void {
    if (!opaque) return;
    if (!includesState) {
      hidden?.push({ index: count, place: 'before', state: wrap(opaque) });
      return;
    }
    closeMessage();
    const place = nextPlace('rs');
    const item = { type: 'reasoning', id: place.id, summary: [] };
    add(place, { ...item, status: 'in_progress' });
    done(place, { ...item, status: 'completed', encrypted_content: wrap(opaque) });
  }

  function openText(current: Writing, part: TextPart | RefusalPart): MessageWriter {
    if (current.isOpen && message) return message;
    const phase = part.type === 'text' ? part.phase : undefined;
    if (message && part.type === 'text' && message.phase !== phase) closeMessage();
    message ??= createMessageWriter(emit, nextPlace('msg'), phase);
    message.open(part);
    current.isOpen = true;
    refused ||= part.type === 'refusal';
    return message;
  }

  function growReasoning(current: Writing, text: string): void {
    if (!current.place) {
      closeMessage();
      current.place = nextPlace('rs');
      add(current.place, { type: 'reasoning', id: current.place.id, summary: [], status: 'in_progress' });
      emit('reasoning_summary_part.added', { ...summaryOf(current.place), part: { type: 'summary_text', text: '' } });
    }
    emit('reasoning_summary_text.delta', { ...summaryOf(current.place), delta: text });
  }

  function endReasoning({ place, opaque }: Writing, { text }: ReasoningPart): void {
    if (!place) {
      carry(opaque);
      return;
    }
    const part = { type: 'summary_text', text };
    emit('reasoning_summary_text.done', { ...summaryOf(place), text });
    emit('reasoning_summary_part.done', { ...summaryOf(place), part });
    if (opaque && !includesState) hidden?.push({ index: place.index, place: 'own', state: wrap(opaque) });
    const state = includesState && { encrypted_content: opaque ? wrap(opaque) : EMPTY_STATE };
    done(place, { type: 'reasoning', id: place.id, summary: [part], status: 'completed', ...state });
  }

  function startCall(current: Writing, part: CallPart): void {
    closeMessage();
    carry(current.opaque);
    current.opaque = undefined;
    if (isBuiltIn(part)) return;
    current.place = nextPlace(part.custom ? 'ctc' : 'fc');
    add(current.place, encodeCall({ ...part, args: '' }, current.place, 'in_progress'));
  }

  function isBuiltIn({ name, namespace, custom }: CallPart): boolean {
    return namespace === undefined && !custom && builtIns.includes(name);
  }

  function growCall({ place }: Writing, { custom }: CallPart, text: string): void {
    if (!place) return;
    const type = custom ? 'custom_tool_call_input.delta' : 'function_call_arguments.delta';
    emit(type, { item_id: place.id, output_index: place.index, delta: text });
  }

  /** A call that was cut off before its arguments stays without them. */
  function settleBare(isCut: boolean): void {
    if (!bare) return;
    const { current, part } = bare;
    bare = undefined;
    if (isCut) {
      if (current.place) endArguments(part, current.place, 'incomplete');
      return;
    }
    part.args += NO_ARGUMENTS;
    growCall(current, part, NO_ARGUMENTS);
    endCall(current, part);
  }

  function endCall(current: Writing, part: CallPart): void {
    if (!part.custom && parseObject(part.args) === undefined) broken = { part, place: current.place };
    else if (current.place) endArguments(part, current.place, 'completed');
    else runBuiltIn(part, nextPlace(builtInPrefix(part.name) ?? 'fc'));
    carry(current.opaque);
  }

  function runBuiltIn(part: CallPart, place: ItemPlace): void {
    const item = encodeBuiltInCall(part, place.id);
    add(place, { ...item, status: 'in_progress' });
    done(place, item);
  }

  function endArguments(part: CallPart, place: ItemPlace, status: 'completed' | 'incomplete'): void {
    const about = { item_id: place.id, output_index: place.index };
    const { name, args } = part;
    if (part.custom) emit('custom_tool_call_input.done', { ...about, input: args });
    else emit('function_call_arguments.done', { ...about, name, arguments: args });
    done(place, encodeCall(part, place, status));
  }

  function endImage({ data, mime }: MediaPart): void {
    if (data === undefined) return;
    closeMessage();
    const place = nextPlace('ig');
    const item = { type: 'image_generation_call', id: place.id };
    add(place, { ...item, status: 'in_progress', result: null });
    done(place, { ...item, status: 'completed', result: data, output_format: formatOf(mime) });
  }

  function growText(current: Writing, text: string, delta?: Delta): void {
    const { part } = current;
    switch (part.type) {
      case 'text':
      case 'refusal':
        part.text += text;
        openText(current, part).grow(text, delta?.logprobs);
        break;
      case 'reasoning':
        part.text += text;
        growReasoning(current, text);
        break;
      case 'call':
        part.args += text;
        growCall(current, part, text);
        break;
      case 'media':
        part.data = (part.data ?? '') + text;
        break;
      case 'native':
        break;
    }
  }

  /** Whether the last call lacks arguments, or the rest of them. */
  function isUnsettled(): boolean {
    return broken !== undefined || bare !== undefined;
  }

  /** Behind a call, words or another part: the output limit cannot have cut it. */
  function writeOn(): void {
    if (broken) throw malformed();
    settleBare(false);
    tellLate();
  }

  function tellLate(): void {
    for (const tell of late.splice(0)) tell();
  }

  function startPart(current: Writing): void {
    const { part } = current;
    if (part.type !== 'native') searches.close();
    if (part.type === 'call') startCall(current, part);
    const first = takeText(part);
    if (first !== '') growText(current, first);
  }

  function growPart(current: Writing, delta: Delta): void {
    const { text = '', opaque, citation, logprobs } = delta;
    if (opaque) current.opaque = opaque;
    if (text !== '' || logprobs) growText(current, text, delta);
    if (citation && current.part.type === 'text') openText(current, current.part).cite(citation);
  }

  function endPart(current: Writing): void {
    const { part, opaque } = current;
    switch (part.type) {
      case 'text':
        if (current.isOpen) message?.settle();
        carry(opaque);
        break;
      case 'refusal':
        if (current.isOpen) message?.settle();
        break;
      case 'reasoning':
        endReasoning(current, part);
        break;
      case 'call':
        if (!part.custom && isBlank(part.args)) bare = { current, part };
        else endCall(current, part);
        break;
      case 'media':
        if (part.kind === 'image') endImage(part);
        break;
      case 'native':
        if (part.search) searches.tell(part.search);
        break;
    }
  }

  return {
    output,
    start(index, given) {
      if (isWritten(given)) writeOn();
      const part = { ...given };
      const current: Writing = { index, part, opaque: 'opaque' in part ? part.opaque : undefined };
      writing = current;
      if (isUnsettled()) late.push(() => startPart(current));
      else startPart(current);
    },
    grow(delta) {
      if (writing?.index !== delta.index) return;
      const current = writing;
      if (delta.text) writeOn();
      if (isUnsettled()) late.push(() => growPart(current, delta));
      else growPart(current, delta);
    },
    end(index) {
      if (writing?.index !== index) return;
      const current = writing;
      writing = undefined;
      if (isUnsettled()) late.push(() => endPart(current));
      else endPart(current);
    },
    finish({ reason, explanation }) {
      const isCut = CUT.includes(reason);
      settleBare(LIMITED.includes(reason));
      if (reason === 'malformed' || (broken && !isCut)) throw malformed();
      if (broken?.place) endArguments(broken.part, broken.place, 'incomplete');
      tellLate();
      searches.close();
      const words = explanation ?? (reason === 'refused' ? REFUSAL : '');
      if (REFUSING.includes(reason) && !refused && words !== '') {
        const part: RefusalPart = { type: 'refusal', text: words };
        openText({ index: -1, part }, part).grow(words);
      }
      closeMessage(isCut ? 'incomplete' : 'completed');
    },
  };
}

/** Reasons after which a last call without arguments lacks them. */
const LIMITED: readonly Finish['reason'][] = ['length', 'context-full'];
/** Reasons after which the last item may be incomplete. */
const CUT: readonly Finish['reason'][] = ['length', 'context-full', 'paused', 'continuation', 'filtered', 'blocked'];
const REFUSING: readonly Finish['reason'][] = ['refused', 'filtered', 'blocked'];

/** Text with which a part begins; it grows by it as by that of deltas. */
function takeText(part: OpenPart): string {
  let text = '';
  if (part.type === 'call') {
    text = part.args;
    part.args = '';
  } else if (part.type === 'text' || part.type === 'refusal' || part.type === 'reasoning') {
    text = part.text;
    part.text = '';
  }
  return text;
}

function summaryOf({ id, index }: ItemPlace): Json {
  return { item_id: id, output_index: index, summary_index: 0 };
}

function encodeCall(part: CallPart, place: ItemPlace, status: string): Json {
  const { id: call_id, name, namespace, args, custom } = part;
  const type = custom ? 'custom_tool_call' : 'function_call';
  const input = custom ? { input: args } : { arguments: args };
  return { type, id: place.id, call_id, name, ...(namespace !== undefined && { namespace }), ...input, status };
}

function formatOf(mime = 'image/png'): string {
  return mime.replace(/^image\//, '');
}

function malformed(): GatewayError {
  return new GatewayError('upstream_error', 'The model wrote a malformed answer.');
}
