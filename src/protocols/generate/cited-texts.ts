/** The visible texts of a candidate, and the citations that are put into them as they end. */

import type { ChatEvent, Citation } from '../../core/chat.ts';
import { placedAt } from '../../core/cited-span.ts';
import type { Json } from '../../core/json/json.ts';
import { type CitationBudget, decodeCitations } from './citations.ts';

/** A text part that another part ended, with its place in the text of the candidate. */
interface EndedText {
  index: number;
  start: number;
  end: number;
}

/** `members` are those of the candidate that describe it as a whole. */
export interface CitedTexts {
  /** A text part is open. */
  readonly isOpen: boolean;
  /** Text of all parts so far, in which the offsets of citations count. */
  readonly text: string;
  beginChunk(candidate: Json): void;
  /** Adds to the open part, or begins one. */
  add(text: string): void;
  /** The open part has this index in the answer. */
  place(index: number): void;
  /** Ends the open part, if there is one. */
  leave(): void;
  /** Puts the citations of the last chunk before the ends of the texts that end in it; a text that ended before gets none. */
  cite(events: ChatEvent[], members: Json): ChatEvent[];
  /** Citations that no text has got, placed in the open part or in one that begins at the end. */
  uncited(members: Json): Citation[];
}

export function createCitedTexts(budget: CitationBudget): CitedTexts {
  let text = '';
  let isOpen = false;
  let openIndex = 0;
  let openStart = 0;
  /** In this chunk. */
  let ended: EndedText[] = [];
  /** Sources were told that were not looked for in texts that ended. */
  let isTold = false;
  let isCited = false;
  let left: Citation[] | undefined;

  function beginChunk({ groundingMetadata, citationMetadata }: Json): void {
    ended = [];
    if (groundingMetadata?.groundingChunks) left = undefined;
    isTold ||= Boolean(groundingMetadata?.groundingChunks || citationMetadata);
  }

  function add(more: string): void {
    if (!isOpen) openStart = text.length;
    isOpen = true;
    text += more;
  }

  function leave(): void {
    if (isOpen) ended.push({ index: openIndex, start: openStart, end: text.length });
    isOpen = false;
  }

  function cite(events: ChatEvent[], members: Json): ChatEvent[] {
    if (isCited || !isTold || ended.length === 0) return events;
    isTold = false;
    const found = decodeCitations(members, text, budget);
    if (found.length === 0) return events;
    isCited = true;
    left = [];
    const deltas = new Map<number, ChatEvent[]>();
    const last = isOpen ? undefined : ended.at(-1);
    for (const citation of found) {
      const place = endedAt(ended, citation) ?? last;
      if (!place) {
        left.push(citation);
        continue;
      }
      const { index, start } = place;
      const before = deltas.get(index) ?? [];
      before.push({ type: 'part-delta', index, citation: placedAt(start, citation) });
      deltas.set(index, before);
    }
    return events.flatMap((event) =>
      event.type === 'part-end' ? [...(deltas.get(event.index) ?? []), event] : [event],
    );
  }

  function uncited(members: Json): Citation[] {
    const start = isOpen ? openStart : text.length;
    return (left ?? decodeCitations(members, text, budget)).map((citation) => placedAt(start, citation));
  }

  return {
    get isOpen() {
      return isOpen;
    },
    get text() {
      return text;
    },
    place: (index) => {
      openIndex = index;
    },
    beginChunk,
    add,
    leave,
    cite,
    uncited,
  };
}

/** The text in which the cited words end. */
function endedAt(texts: readonly EndedText[], { end }: Citation): EndedText | undefined {
  if (end === undefined) return undefined;
  let low = 0;
  let high = texts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((texts[middle] as EndedText).end < end) low = middle + 1;
    else high = middle;
  }
  const text = texts[low];
  return text && text.start < end ? text : undefined;
}
