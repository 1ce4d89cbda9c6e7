/** Fold: converts the events of a stream into a whole response, and a whole response into events. */

import type { ChatCandidate, ChatEvent, ChatResponse, OpenPart } from './chat.ts';
import { GatewayError } from './errors.ts';

/** Throws the error of an error event, and `upstream_error` when the events end before the message does. */
export function fold(events: Iterable<ChatEvent>): ChatResponse {
  const folder = createFolder();
  for (const event of events) folder.add(event);
  return folder.response();
}

export interface Folder {
  add(event: ChatEvent): void;
  /** Parts of a candidate received so far. */
  parts(candidate: number): OpenPart[];
  /** Throws `upstream_error` if the message has not ended. */
  response(): ChatResponse;
}

export function createFolder(): Folder {
  const response: ChatResponse = { id: '', model: '', candidates: [] };
  const open = new Map<number, OpenPart>();
  let ended = false;

  function candidate(index: number): ChatCandidate {
    while (response.candidates.length <= index) response.candidates.push({ parts: [], finish: { reason: 'other' } });
    return response.candidates[index] as ChatCandidate;
  }

  function add(event: ChatEvent): void {
    switch (event.type) {
      case 'message-start':
        response.id = event.id;
        response.model = event.model;
        if (event.created !== undefined) response.created = event.created;
        if (event.usage) response.usage = event.usage;
        return;
      case 'part-start': {
        const part = copyOf(event.part);
        open.set(event.index, part);
        candidate(event.candidate).parts.push(part);
        return;
      }
      case 'part-delta':
        grow(open.get(event.index), event);
        return;
      case 'part-end':
        open.delete(event.index);
        return;
      case 'candidate-end':
        candidate(event.candidate).finish = event.finish;
        return;
      case 'message-end':
        if (event.usage) response.usage = event.usage;
        ended = true;
        return;
      case 'ping':
        return;
      case 'error':
        throw event.error;
    }
  }

  return {
    add,
    parts: (index) => candidate(index).parts,
    response() {
      if (!ended) throw new GatewayError('upstream_error', 'The upstream closed its response before the end.');
      candidate(0);
      return response;
    },
  };
}

export function* unfold(response: ChatResponse): Generator<ChatEvent> {
  yield {
    type: 'message-start',
    id: response.id,
    model: response.model,
    created: response.created,
    usage: response.usage,
  };
  let index = 0;
  for (const [candidate, { parts, finish }] of response.candidates.entries()) {
    for (const part of parts) yield* unfoldPart(part, index++, candidate);
    yield { type: 'candidate-end', candidate, finish };
  }
  yield { type: 'message-end', usage: response.usage };
}

function* unfoldPart(part: OpenPart, index: number, candidate: number): Generator<ChatEvent> {
  switch (part.type) {
    case 'text': {
      const { citations, logprobs, text, opaque, ...rest } = part;
      yield { type: 'part-start', index, candidate, part: { ...rest, text: '' } };
      if (text !== '' || logprobs) yield { type: 'part-delta', index, text, logprobs };
      for (const citation of citations ?? []) yield { type: 'part-delta', index, citation };
      if (opaque) yield { type: 'part-delta', index, opaque };
      break;
    }
    case 'reasoning': {
      const { text, opaque, ...rest } = part;
      const redacted = opaque && opaque.kind !== 'signature';
      const started = { ...rest, text: '', opaque: redacted ? opaque : undefined };
      yield { type: 'part-start', index, candidate, part: started };
      if (text !== '') yield { type: 'part-delta', index, text };
      if (opaque && !redacted) yield { type: 'part-delta', index, opaque };
      break;
    }
    case 'call':
      yield { type: 'part-start', index, candidate, part: { ...part, args: '' } };
      if (part.args !== '') yield { type: 'part-delta', index, text: part.args };
      break;
    case 'refusal':
      yield { type: 'part-start', index, candidate, part: { ...part, text: '' } };
      if (part.text !== '') yield { type: 'part-delta', index, text: part.text };
      break;
    case 'media':
    case 'native':
      yield { type: 'part-start', index, candidate, part };
      break;
  }
  yield { type: 'part-end', index };
}

function grow(part: OpenPart | undefined, delta: Extract<ChatEvent, { type: 'part-delta' }>): void {
  if (!part) throw new GatewayError('internal_error', `A delta for part ${delta.index}, which is not open.`);
  if (delta.text !== undefined) growText(part, delta.text);
  if (delta.opaque && part.type !== 'refusal' && part.type !== 'native') part.opaque = delta.opaque;
  if (part.type !== 'text') return;
  if (delta.citation) {
    part.citations ??= [];
    part.citations.push(delta.citation);
  }
  for (const token of delta.logprobs ?? []) {
    part.logprobs ??= [];
    part.logprobs.push(token);
  }
}

function growText(part: OpenPart, text: string): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      part.text += text;
      return;
    case 'call':
      part.args += text;
      return;
    case 'media':
      part.data = (part.data ?? '') + text;
      return;
    case 'native':
      return;
  }
}

/** Copies a part, because folding extends parts in place and must not change the events. */
function copyOf(part: OpenPart): OpenPart {
  if (part.type !== 'text') return { ...part };
  const { citations, logprobs } = part;
  return { ...part, ...(citations && { citations: [...citations] }), ...(logprobs && { logprobs: [...logprobs] }) };
}
