/** Byte collector: chunks of any size, concatenated at the end. */

export interface ByteCollector {
  add(chunk: Buffer): void;
  /** Bytes added since the last `take`. */
  readonly size: number;
  /** Returns all bytes as one buffer and empties the collector. */
  take(): Buffer;
}

/** Chunks after which they are merged, because a buffer object costs a hundred bytes even for a one-byte chunk. */
const MERGE_AFTER_CHUNKS = 1024;

export function createByteCollector(): ByteCollector {
  let merged: Buffer[] = [];
  let chunks: Buffer[] = [];
  let size = 0;

  return {
    add(chunk) {
      size += chunk.length;
      if (chunks.push(chunk) < MERGE_AFTER_CHUNKS) return;
      merged.push(Buffer.concat(chunks));
      chunks = [];
    },
    get size() {
      return size;
    },
    take() {
      const [only] = chunks;
      const bytes = merged.length === 0 && chunks.length === 1 && only ? only : Buffer.concat([...merged, ...chunks]);
      merged = [];
      chunks = [];
      size = 0;
      return bytes;
    },
  };
}
