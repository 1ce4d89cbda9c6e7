/** The hub of embeddings: a request between decoding one protocol and encoding another, and its answer. */

import type { Usage } from './chat.ts';

export type EmbeddingInput =
  | { type: 'text'; text: string }
  /** Ids of the model's own tokenizer. */
  | { type: 'tokens'; tokens: number[] };

/** Purpose of the vectors, with names common to several vendors. */
export const EMBEDDING_PURPOSES = [
  'query',
  'document',
  'similarity',
  'classification',
  'clustering',
  'question-answering',
  'fact-verification',
  'code-query',
] as const;
export type EmbeddingPurpose = (typeof EMBEDDING_PURPOSES)[number];

export interface EmbeddingRequest {
  inputs: EmbeddingInput[];
  /** Dimensions of each vector; the default of the model if absent. */
  dimensions?: number;
  purpose?: EmbeddingPurpose;
  /** Title of the embedded document. */
  title?: string;
  /** Hub names of tuning parameters that the gateway does not read. */
  dropped: string[];
}

/** One vector for each input, in their order. */
export interface EmbeddingResponse {
  vectors: readonly Float32Array[];
  usage?: Pick<Usage, 'input'> & Partial<Usage>;
}

/** A vector as the base64 text of its little-endian floats. */
export function vectorToBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4);
  return bytes.toString('base64');
}

/** Undefined if the byte length is no multiple of four. */
export function vectorFromBase64(text: string): Float32Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}

/** The numbers of a vector, each with the fewest digits that give the same 32-bit float. */
export function vectorToNumbers(vector: Float32Array): number[] {
  return Array.from(vector, shortestFloat);
}

/** 9 significant digits identify every 32-bit float; most need fewer. */
function shortestFloat(value: number): number {
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}

/** Scaled to length 1, where it is not already. */
export function normalized(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  if (length === 0 || Math.abs(length - 1) < 1e-3) return vector;
  return vector.map((value) => value / length);
}
