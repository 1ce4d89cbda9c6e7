/** Byte collector: chunks of any size, concatenated at the end. */

import { ownCopy } from './own-bytes.ts';

/** Chunks after which they are merged, because a buffer object costs a hundred bytes even for a one-byte chunk. */
const MERGE_AFTER_CHUNKS = 1024;
const NO_BYTES = Buffer.alloc(0);

export class ByteCollector {
  #merged: Buffer[] | undefined;
  #chunks: Buffer[] = [];
  #size = 0;

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#chunks.push(chunk) < MERGE_AFTER_CHUNKS) return;
    this.#merged ??= [];
    this.#merged.push(Buffer.concat(this.#chunks));
    this.#chunks = [];
  }

  /** Adds a copy of a chunk that is lent. */
  addCopy(chunk: Buffer): void {
    this.add(ownCopy(chunk, 0, chunk.length));
  }

  /** Bytes added since the last `take`. */
  get size(): number {
    return this.#size;
  }

  /** Returns all bytes as one buffer and empties the collector. */
  take(): Buffer {
    const [only] = this.#chunks;
    if (!only && !this.#merged) return NO_BYTES;
    const bytes =
      !this.#merged && this.#chunks.length === 1 && only
        ? only
        : Buffer.concat([...(this.#merged ?? []), ...this.#chunks], this.#size);
    this.#merged = undefined;
    this.#chunks = [];
    this.#size = 0;
    return bytes;
  }
}
