/** Copies of byte slices: a slice that is kept would keep all bytes of the chunk it was cut from. */

/** The bytes, copied if most of their memory belongs to other bytes. */
export function ownBytes(slice: Buffer): Buffer {
  if (slice.length * 2 >= slice.buffer.byteLength) return slice;
  const copy = Buffer.allocUnsafeSlow(slice.length);
  copy.set(slice);
  return copy;
}
