/** Bit writer, most significant bit first, with the Exp-Golomb numbers of H.264. */

export interface BitWriter {
  /** The lowest `count` bits of a number, 32 at most. */
  bits(value: number, count: number): void;
  /** An Exp-Golomb number, `ue(v)` in the standard: 0 is one bit. */
  golomb(value: number): void;
  /** Writes zeros up to the next byte boundary. */
  align(): void;
  /** Writes whole bytes at an aligned position. */
  bytes(values: Uint8Array): void;
  /** Writes the stop bit and zeros up to a byte boundary; returns all bytes. */
  finish(): Buffer;
}

export function bitWriter(): BitWriter {
  const done: Uint8Array[] = [];
  let block: number[] = [];
  let byte = 0;
  let filled = 0;

  function bit(value: number): void {
    byte = (byte << 1) | value;
    if (++filled < 8) return;
    block.push(byte);
    byte = filled = 0;
  }

  function bits(value: number, count: number): void {
    for (let position = count - 1; position >= 0; position--) bit((value >>> position) & 1);
  }

  function align(): void {
    while (filled > 0) bit(0);
  }

  return {
    bits,
    golomb(value) {
      const length = 32 - Math.clz32(value + 1);
      bits(0, length - 1);
      bits(value + 1, length);
    },
    align,
    bytes(values) {
      done.push(Uint8Array.from(block), values);
      block = [];
    },
    finish() {
      bit(1);
      align();
      return Buffer.concat([...done, Uint8Array.from(block)]);
    },
  };
}
