/** Recorded bytes: the first bytes of a body with the times at which they came. */

/** Bytes that all bodies of a capture may still take. */
export interface ByteAllowance {
  left: number;
}

export interface RecordedPiece {
  /** Milliseconds since the beginning of the capture. */
  ms: number;
  bytes: Buffer;
}

/** Most bytes of one body; a capture has room for those of a request and a response on both sides. */
export const MAX_BODY_BYTES = 256 * 1024;
/** Memory that a piece takes beside its bytes. */
const PIECE_BYTES = 64;

export class RecordedBytes {
  readonly #allowance: ByteAllowance;
  #left = MAX_BODY_BYTES;
  /** Copies: chunks are views of larger buffers. */
  pieces: RecordedPiece[] = [];
  /** Size of the whole body in bytes. */
  total = 0;
  isTruncated = false;

  constructor(allowance: ByteAllowance) {
    this.#allowance = allowance;
  }

  /** Adds a chunk that came after `ms` milliseconds. Bytes beyond the allowance are counted and not kept. */
  add(chunk: Buffer | string, ms: number): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    this.total += bytes.length;
    if (bytes.length === 0 || this.isTruncated) return;
    const room = Math.min(this.#left, this.#allowance.left) - PIECE_BYTES;
    const length = Math.min(bytes.length, room);
    this.isTruncated = length < bytes.length;
    if (length <= 0) return;
    this.#left -= length + PIECE_BYTES;
    this.#allowance.left -= length + PIECE_BYTES;
    this.pieces.push({ ms, bytes: Buffer.from(bytes.subarray(0, length)) });
  }
}
