/** Chunks of HTTP/1.1 (RFC 9112, 7.1): pieces of a body, joined so that one buffer is written. */

import type { Output } from '../inference/response/converter.ts';

/** Length line and last line break of a chunk: at most eight digits and two CRLF. */
export const MAX_CHUNK_FRAMING_BYTES = 12;

const CR = 13;
const LF = 10;

/** The pieces as one buffer, which begins with the length line if it is a chunk. */
export function joinPieces(pieces: readonly Output[], bytes: number, isChunk: boolean): Buffer {
  const length = isChunk ? bytes.toString(16) : '';
  const buffer = Buffer.allocUnsafe(isChunk ? length.length + bytes + 4 : bytes);
  let at = 0;
  if (isChunk) {
    at = buffer.write(length, 'latin1');
    buffer[at++] = CR;
    buffer[at++] = LF;
  }
  for (const piece of pieces) {
    if (typeof piece === 'string') at += buffer.write(piece, at);
    else {
      buffer.set(piece, at);
      at += piece.length;
    }
  }
  if (isChunk) {
    buffer[at++] = CR;
    buffer[at] = LF;
  }
  return buffer;
}
