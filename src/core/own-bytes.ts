/** Copies of parts of bytes and texts: a part that is kept would keep all that it was cut from. */

/** Copy of a part, as large as itself; not a slice of Node's pool, which keeps 64 kB as long as it is kept. */
export function ownCopy(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  bytes.copy(copy, 0, start, end);
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
