/** Search for control characters, which a JSON string must escape: four bytes at a time, several times as fast as a parser. */

const WORD_BYTES = 4;
const FIRST_PRINTABLE = 32;
/** Four times the first printable character, and four times the high bit of a byte. */
const PRINTABLE_WORD = 0x20202020;
const HIGH_BITS = 0x80808080 | 0;

/** Whether a byte below 32 is among the bytes. */
export function hasControlByte(bytes: Uint8Array): boolean {
  const aligned = -bytes.byteOffset & (WORD_BYTES - 1);
  if (bytes.length < aligned) return isLowBetween(bytes, 0, bytes.length);
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + aligned, (bytes.length - aligned) >> 2);
  // Where each byte of the word is at least 32, no byte borrows from the next, and no high bit that was 0 becomes 1.
  let borrowed = 0;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as number;
    borrowed |= (word - PRINTABLE_WORD) & ~word;
  }
  const rest = aligned + words.length * WORD_BYTES;
  return (borrowed & HIGH_BITS) !== 0 || isLowBetween(bytes, 0, aligned) || isLowBetween(bytes, rest, bytes.length);
}

function isLowBetween(bytes: Uint8Array, from: number, to: number): boolean {
  for (let position = from; position < to; position++) if ((bytes[position] as number) < FIRST_PRINTABLE) return true;
  return false;
}
