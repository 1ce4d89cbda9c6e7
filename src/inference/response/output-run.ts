/** Output run: bytes of the frames of one chunk, which is lent, collected as one output however many frames they are. */

import { ownCopy } from '../../core/own-bytes.ts';
import type { Output } from './converter.ts';
import { type FrameText, MAX_TEXT_BYTES } from './mark-search.ts';

export class OutputRun {
  #out: Output[] | undefined;
  /** Bytes that were not handed out yet, as Latin-1. */
  #text = '';

  /** Appends a part of a frame to an output. */
  add(out: Output[], frame: FrameText, start = 0, end = frame.length): void {
    if (out !== this.#out) this.flush();
    this.#out = out;
    if (typeof frame === 'string') this.#text += frame.slice(start, end);
    else if (end - start <= MAX_TEXT_BYTES) this.#text += frame.toString('latin1', start, end);
    else this.put(out, ownCopy(frame, start, end));
  }

  /** Appends output that is not from the chunk. */
  put(out: Output[], output: Output): void {
    this.flush();
    out.push(output);
  }

  /** Ends the run. Text of ASCII is written as it is, without memory outside of the heap. */
  flush(): void {
    const [out, text] = [this.#out, this.#text];
    this.#out = undefined;
    this.#text = '';
    if (text !== '') out?.push(Buffer.byteLength(text) === text.length ? text : latin1Bytes(text));
  }
}

function latin1Bytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(text.length);
  bytes.write(text, 'latin1');
  return bytes;
}
