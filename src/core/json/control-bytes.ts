/** Search for control characters, which a JSON string must escape: four words at a time, several times as fast as a parser. */

const WORD_BYTES = 4;
const WORDS_AT_ONCE = 4;
const FIRST_PRINTABLE = 32;
/** Four times the first printable character, and four times the high bit of a byte. */
const PRINTABLE_WORD = 0x20202020;
const HIGH_BITS = 0x80808080 | 0;

/** Whether a byte below 32 is among the bytes. */
export function hasControlByte(bytes: Uint8Array): boolean {
  const aligned = -bytes.byteOffset & (WORD_BYTES - 1);
  if (bytes.length < aligned) return isLowBetween(bytes, 0, bytes.length);
  const count = ((bytes.length - aligned) >> 2) & ~(WORDS_AT_ONCE - 1);
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + aligned, count);
  const rest = aligned + count * WORD_BYTES;
  return hasLowByte(words) || isLowBetween(bytes, 0, aligned) || isLowBetween(bytes, rest, bytes.length);
}

/**
 * Whether a byte of the words is below 32. Where each byte of a word is at least 32, no byte borrows from the next, and no high
 * bit that was 0 becomes 1. Four words at once, each into a number of its own, so that the processor need not wait for one.
 */
function hasLowByte(words: Int32Array): boolean {
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  for (let index = 0; index < words.length; index += WORDS_AT_ONCE) {
    const one = words[index] as number;
    const two = words[index + 1] as number;
    const three = words[index + 2] as number;
    const four = words[index + 3] as number;
    first |= (one - PRINTABLE_WORD) & ~one;
    second |= (two - PRINTABLE_WORD) & ~two;
    third |= (three - PRINTABLE_WORD) & ~three;
    fourth |= (four - PRINTABLE_WORD) & ~four;
  }
  return ((first | second | third | fourth) & HIGH_BITS) !== 0;
}

function isLowBetween(bytes: Uint8Array, from: number, to: number): boolean {
  for (let position = from; position < to; position++) if ((bytes[position] as number) < FIRST_PRINTABLE) return true;
  return false;
}
