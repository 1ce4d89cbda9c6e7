/** Bytes that arrive in chunks of any size, joined at the end. */

export interface ByteCollector {
  add(chunk: Buffer): void;
  /** Bytes added since the last `take`. */
  readonly size: number;
  /** All bytes, as one buffer; the collector is empty afterwards. */
  take(): Buffer;
}

/** A chunk of one byte costs a hundred bytes as an object of its own: so many of them are merged. */
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
