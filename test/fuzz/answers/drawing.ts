/** Pieces of generated answers of upstreams: texts, states and counts, and the cutting of texts for streams. */

import fc from 'fast-check';
import type { Json } from '../../../src/core/json/json.ts';

export interface UpstreamAnswer {
  whole: Json;
  frames: { event?: string; data: Json }[];
  /** The first candidate ends with the call `CUT_CALL`. */
  isCut: boolean;
}

/** Name of a call that the output limit cut off before its arguments; what is told at the end of an answer comes behind it. */
export const CUT_CALL = 'cutCall';
export const sometimes = fc.oneof(
  { weight: 3, arbitrary: fc.constant(false) },
  { weight: 1, arbitrary: fc.constant(true) },
);

/** A letter of texts that may stand for bytes that are no UTF-8. */
export const BROKEN = '\ufffe';
const letter = fc.oneof(
  { weight: 9, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }) },
  { weight: 1, arbitrary: fc.constant(BROKEN) },
);

export const text = fc.string({ unit: letter, minLength: 1, maxLength: 16 });
/** Lengths of the pieces in which a text is streamed; drawn once for an answer, and used in turn. */
export const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
export const name = fc.stringMatching(/^[a-z_]{1,12}$/);
export const input = fc.dictionary(name, fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), {
  maxKeys: 3,
});
export const url = name.map((word) => `https://example.com/${word}`);
export const state = fc.stringMatching(/^[A-Za-z0-9+/]{4,12}$/);
export const count = fc.nat(500);
export const PICTURE = 'iVBORw0KGgo=';

/** Cuts texts into pieces whose lengths are drawn; pairs of surrogates stay whole, as upstreams keep them. */
export type Cut = (text: string) => string[];

export function cutterOf(drawn: readonly number[]): Cut {
  let at = 0;
  return (given) => {
    const letters = [...given];
    const pieces: string[] = [];
    while (letters.length > 0) pieces.push(letters.splice(0, drawn[at++ % drawn.length]).join(''));
    return pieces;
  };
}

/** Items of several lists by turns, each list in its order. */
export function interleaved<Item>(lists: readonly Item[][]): Item[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

export const logprob = fc.record({ token: text, logprob: fc.constantFrom(-1, -0.5, 0) }).map((token) => ({
  ...token,
  bytes: [...Buffer.from(token.token)],
  top_logprobs: [{ token: 'x', logprob: -2, bytes: [120] }],
}));
