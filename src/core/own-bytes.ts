/** Copies of byte slices: a slice that is kept would keep all bytes of the chunk it was cut from. */

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
