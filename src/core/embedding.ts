/** The hub of embeddings: request and response between decoding one protocol and encoding another. */

import type { Usage } from './chat.ts';
import { isRawNumber, type Json } from './json/json.ts';

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

/** Embeddings of a provider that has them in another form than its protocol. */
export interface EmbeddingForm {
  /** Path in place of that of the protocol. */
  path(model: string): string;
  /** Converts a request of the protocol that the gateway wrote. Throws `unsupported_*`. */
  request(body: Json, model: string): Json;
  /** Converts a response to one of the protocol. */
  response(body: Json): Json;
}

/** Numbers as they were written, or floats that were base64. */
export type Vector = readonly number[] | Float32Array;

/** One vector for each input, in their order. */
export interface EmbeddingResponse {
  vectors: readonly Vector[];
  usage?: Pick<Usage, 'input'> & Partial<Usage>;
}

/** A vector as the base64 text of its little-endian floats. */
export function vectorToBase64(vector: Vector): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (let index = 0; index < vector.length; index++) bytes.writeFloatLE(vector[index] ?? 0, index * 4);
  return bytes.toString('base64');
}

/** The numbers of a JSON array, also those with more digits than a number keeps; undefined for anything else. */
export function vectorFromNumbers(values: unknown): readonly number[] | undefined {
  if (!Array.isArray(values)) return undefined;
  if (values.every((value) => typeof value === 'number')) return values;
  const numbers = values.map((value) =>
    isRawNumber(value) ? Number(value.rawJSON) : typeof value === 'number' ? value : Number.NaN,
  );
  return numbers.some(Number.isNaN) ? undefined : numbers;
}

/** Undefined if the byte length is no multiple of four. */
export function vectorFromBase64(text: string): Float32Array | undefined {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  return Float32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4));
}

/** The numbers of a vector; a 32-bit float with the fewest digits that identify it. */
export function vectorToNumbers(vector: Vector): readonly number[] {
  return vector instanceof Float32Array ? Array.from(vector, shortestFloat) : vector;
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
export function normalized(vector: Vector): Vector {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  if (length === 0 || !Number.isFinite(length) || Math.abs(length - 1) < 1e-3) return vector;
  return vector.map((value) => value / length);
}
