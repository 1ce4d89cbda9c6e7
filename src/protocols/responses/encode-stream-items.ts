/** Items of an answer, one after another, and the events of a stream that carry them. A whole answer has the same items. */

import type {
  ChatEvent,
  Finish,
  MediaPart,
  Opaque,
  OpenPart,
  ReasoningPart,
  RefusalPart,
  TextPart,
} from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import { wrap } from '../../core/opaque.ts';
import { isWritten } from '../../core/parts.ts';
import type { HiddenState } from '../../core/stored-access.ts';
import { createCallWriter } from './encode-stream-call.ts';
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
  /** Steps of the parts behind an unsettled call that the model did not write, held back so that items keep their order. */
  const late: (() => void)[] = [];
  let refused = false;
  let count = 0;
  const calls = createCallWriter({ emit, nextPlace, add, done, carry, closeMessage, builtIns });
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
        calls.grow(current, part, text);
        break;
      case 'media':
        part.data = (part.data ?? '') + text;
        break;
      case 'native':
        break;
    }
  }

  /** Behind a call, words or another part. */
  function writeOn(): void {
    calls.settle();
    tellLate();
  }

  function tellLate(): void {
    for (const tell of late.splice(0)) tell();
  }

  function startPart(current: Writing): void {
    const { part } = current;
    if (part.type !== 'native') searches.close();
    if (part.type === 'call') calls.start(current, part);
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
        calls.end(current, part);
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
      if (calls.isUnsettled()) late.push(() => startPart(current));
      else startPart(current);
    },
    grow(delta) {
      if (writing?.index !== delta.index) return;
      const current = writing;
      if (delta.text) writeOn();
      if (calls.isUnsettled()) late.push(() => growPart(current, delta));
      else growPart(current, delta);
    },
    end(index) {
      if (writing?.index !== index) return;
      const current = writing;
      writing = undefined;
      if (calls.isUnsettled()) late.push(() => endPart(current));
      else endPart(current);
    },
    finish({ reason, explanation }) {
      const isCut = CUT.includes(reason);
      calls.finish(reason, isCut);
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

function formatOf(mime = 'image/png'): string {
  return mime.replace(/^image\//, '');
}
