/** A message item of an answer: its texts and refusals, from the first word to its end. */

import type { Citation, RefusalPart, TextPart, TokenLogprob } from '../../core/chat.ts';
import { citedSpan } from '../../core/cited-span.ts';
import type { Json } from '../../core/json/json.ts';

/** Writes one event of the stream. */
export type Emit = (type: string, members: Json) => void;

export interface ItemPlace {
  id: string;
  index: number;
}

type Phase = TextPart['phase'];

export interface MessageWriter {
  readonly phase: Phase;
  open(part: TextPart | RefusalPart): void;
  grow(text: string, logprobs?: TokenLogprob[]): void;
  cite(citation: Citation): void;
  /** Ends the part at hand. */
  settle(): void;
  /** Ends the message; returns its item. */
  close(status: 'completed' | 'incomplete'): Json;
}

/** A part that is being written. */
interface OpenPart {
  kind: 'output_text' | 'refusal';
  text: string;
  citations: Citation[];
  logprobs: Json[];
}

export function createMessageWriter(emit: Emit, { id, index }: ItemPlace, phase: Phase): MessageWriter {
  const about = { type: 'message', id, role: 'assistant', ...(phase && { phase }) };
  const content: Json[] = [];
  let part: OpenPart | undefined;
  emit('output_item.added', { output_index: index, item: { ...about, status: 'in_progress', content: [] } });

  function place(): Json {
    return { item_id: id, output_index: index, content_index: content.length };
  }

  function settle(): void {
    if (!part) return;
    const { kind, text, citations, logprobs } = part;
    part = undefined;
    const annotations = citations.flatMap((citation) => encodeCitation(citation, text.length));
    for (const [annotation_index, annotation] of annotations.entries())
      emit('output_text.annotation.added', { ...place(), annotation_index, annotation });
    if (kind === 'refusal') emit('refusal.done', { ...place(), refusal: text });
    else emit('output_text.done', { ...place(), text, logprobs });
    const whole = kind === 'refusal' ? { type: kind, refusal: text } : { type: kind, text, annotations, logprobs };
    emit('content_part.done', { ...place(), part: whole });
    content.push(whole);
  }

  return {
    phase,
    open({ type }) {
      settle();
      const kind = type === 'refusal' ? 'refusal' : 'output_text';
      part = { kind, text: '', citations: [], logprobs: [] };
      const empty = kind === 'refusal' ? { refusal: '' } : { text: '', annotations: [], logprobs: [] };
      emit('content_part.added', { ...place(), part: { type: kind, ...empty } });
    },
    grow(text, tokens = []) {
      if (!part) return;
      part.text += text;
      if (part.kind === 'refusal') {
        emit('refusal.delta', { ...place(), delta: text });
        return;
      }
      const logprobs = tokens.map(encodeLogprob);
      for (const token of logprobs) part.logprobs.push(token);
      emit('output_text.delta', { ...place(), delta: text, logprobs });
    },
    cite(citation) {
      part?.citations.push(citation);
    },
    settle,
    close(status) {
      settle();
      const item = { ...about, status, content };
      emit('output_item.done', { output_index: index, item });
      return item;
    },
  };
}

/** Only sources with a URL have a form here; offsets are UTF-16 units of the part's text. */
function encodeCitation(citation: Citation, length: number): Json[] {
  const { url, title = '' } = citation;
  if (url === undefined) return [];
  const { start, end } = citedSpan(citation, length);
  return [{ type: 'url_citation', url, title, start_index: start, end_index: end }];
}

function encodeLogprob(token: TokenLogprob): Json {
  return { ...encodeToken(token), top_logprobs: (token.top ?? []).map(encodeToken) };
}

function encodeToken({ token, logprob, bytes }: TokenLogprob): Json {
  return { token, logprob, bytes: bytes ?? [...Buffer.from(token)] };
}
