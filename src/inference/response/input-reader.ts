/** Readers of the text in `{"input":"..."}` and of the JSON in `{"answer":...}`, which come in fragments: each gives the text that it completes. */

import { isBlank, parseObject } from '../../core/json/json.ts';
import { createBalance } from '../../core/parts.ts';

export interface InputReader {
  /** Returns the text that a fragment completes; may be empty. */
  push(fragment: string): string;
  /** Text that was held back. */
  end(): string;
}

/** Tokens before the text, with white space between. */
const OPENING = ['{', '"input"', ':', '"'];
const ANSWER_OPENING = ['{', '"answer"', ':'];

/** The most of a possible end that is held back. */
const MAX_END_CHARACTERS = 1000;

/** A longer opening is one of white space only, which is searched again with each fragment. */
const MAX_OPENING_CHARACTERS = 1000;

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

export function createInputReader(): InputReader {
  /** Text that is held back: the opening, or all of the arguments if they have another form. */
  let held = '';
  /** `other`: another form, which is read at the end. */
  let state: 'opening' | 'text' | 'after' | 'other' = 'opening';
  /** An escape at the end of a fragment that has more of it. */
  let pending = '';
  /** The first half of a character, which no fragment ends with. */
  let half = '';

  function open(fragment: string): string {
    held += fragment;
    const length = lengthOfOpening(held, OPENING);
    if (length === undefined) return '';
    state = length < 0 ? 'other' : 'text';
    return state === 'text' ? readText(held.slice(length)) : '';
  }

  function readText(fragment: string): string {
    let text = half;
    for (let position = 0; position < fragment.length && state === 'text'; position++) {
      const unit = fragment.charAt(position);
      if (pending !== '') {
        pending += unit;
        const decoded = decodeEscape(pending);
        if (decoded === undefined) continue;
        text += decoded;
        pending = '';
      } else if (unit === '\\') pending = unit;
      else if (unit === '"') state = 'after';
      else text += unit;
    }
    half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
    return text.slice(0, text.length - half.length);
  }

  return {
    push(fragment) {
      switch (state) {
        case 'opening':
          return open(fragment);
        case 'text':
          return readText(fragment);
        case 'other':
          held += fragment;
          return '';
        case 'after':
          return '';
      }
    },
    end: () => (state === 'opening' || state === 'other' ? textOf(held) : half),
  };
}

/** The JSON of an answer without the object around it; an answer of another form stays as it is. */
export function createAnswerReader(): InputReader {
  const balance = createBalance();
  let held = '';
  let state: 'opening' | 'answer' | 'other' = 'opening';

  function take(length: number): string {
    const text = held.slice(0, length);
    held = held.slice(length);
    return text;
  }

  return {
    push(fragment) {
      held += fragment;
      if (state === 'opening') {
        const length = lengthOfOpening(held, ANSWER_OPENING);
        if (length === undefined) return '';
        state = length < 0 ? 'other' : 'answer';
        if (state === 'answer') balance.add(take(length));
        balance.add(held);
      } else if (state === 'answer') balance.add(fragment);
      return take(state === 'answer' ? lengthBeforeEnd(held) : held.length);
    },
    end: () => (state === 'answer' && balance.closed() ? '' : held),
  };
}

/** Length of a text without a closing brace at its end, and the white space around it. */
function lengthBeforeEnd(text: string): number {
  const end = text.trimEnd().length;
  const length = text[end - 1] === '}' ? text.slice(0, end - 1).trimEnd().length : end;
  return text.length - length > MAX_END_CHARACTERS ? text.length : length;
}

/** Length of the opening; undefined if more of it may follow, -1 if the text begins in another way. */
function lengthOfOpening(text: string, tokens: readonly string[]): number | undefined {
  let position = 0;
  for (const token of tokens) {
    while (isBlank(text[position] ?? '-')) position++;
    const given = text.slice(position, position + token.length);
    if (given !== token) return token.startsWith(given) && text.length <= MAX_OPENING_CHARACTERS ? undefined : -1;
    position += token.length;
  }
  return position;
}

/** The character of an escape; undefined while it is incomplete. */
function decodeEscape(written: string): string | undefined {
  const kind = written.charAt(1);
  if (kind !== 'u') return ESCAPES[kind] ?? kind;
  if (written.length < 6) return undefined;
  const code = Number.parseInt(written.slice(2), 16);
  return Number.isNaN(code) ? written : String.fromCharCode(code);
}

/** The text of `input` in complete arguments; no arguments are no text, and those of another form are the text themselves. */
function textOf(args: string): string {
  const given = parseObject(args);
  if (typeof given?.input === 'string') return given.input;
  return given && Object.keys(given).length === 0 ? '' : args;
}
