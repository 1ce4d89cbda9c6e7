/** Copies of parts of bytes and texts: a part that is kept would keep all that it was cut from. */

/** The bytes, copied if most of their memory belongs to other bytes. */
export function ownBytes(slice: Buffer): Buffer {
  if (slice.length * 2 >= slice.buffer.byteLength) return slice;
  return ownCopy(slice, 0, slice.length);
}

/** Copy of a part, as large as itself; not a slice of Node's pool, which keeps 64 kB as long as it is kept. */
export function ownCopy(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}

/** Size of a pool. A copy in it that is kept for long keeps the whole pool. */
const POOL_BYTES = 16 * 1024;
/** The longest copy in a pool. */
const MAX_POOLED_BYTES = POOL_BYTES / 4;
let pool = Buffer.alloc(0);
let pooledBytes = 0;

/** Copy of a part that is not kept; small copies share a pool, because memory of its own costs more than the copy. */
export function pooledCopy(bytes: Buffer, start: number, end: number): Buffer {
  const length = end - start;
  if (length > MAX_POOLED_BYTES) return ownCopy(bytes, start, end);
  if (pooledBytes + length > pool.length) {
    pool = Buffer.allocUnsafeSlow(POOL_BYTES);
    pooledBytes = 0;
  }
  bytes.copy(pool, pooledBytes, start, end);
  const copy = pool.subarray(pooledBytes, pooledBytes + length);
  pooledBytes += length;
  return copy;
}

/** Concatenates two buffers in memory of their own, like `ownCopy`. */
export function ownJoined(first: Buffer, second: Buffer): Buffer {
  const bytes = Buffer.allocUnsafeSlow(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

/** Copy of a text of one byte a character. */
export function ownText(part: string): string {
  return Buffer.from(part, 'latin1').toString('latin1');
}
