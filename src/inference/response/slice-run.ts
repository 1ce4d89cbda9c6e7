/** Slice run: consecutive bytes of one chunk, collected as one slice however many frames they are. */

import type { Output } from './converter.ts';

export class SliceRun {
  #out: Output[] | undefined;
  #chunk: ArrayBufferLike | undefined;
  /** Positions in the memory of the chunk. */
  #start = 0;
  #end = 0;

  /** Appends the bytes of a frame to an output. */
  add(out: Output[], frame: Buffer, start = 0, end = frame.length): void {
    const from = frame.byteOffset + start;
    if (out !== this.#out || frame.buffer !== this.#chunk || from !== this.#end) {
      this.flush();
      this.#out = out;
      this.#chunk = frame.buffer;
      this.#start = from;
    }
    this.#end = frame.byteOffset + end;
  }

  /** Appends output that is not from the chunk. */
  put(out: Output[], output: Output): void {
    this.flush();
    out.push(output);
  }

  /** Ends the slice; a chunk is not kept afterwards. */
  flush(): void {
    if (this.#out && this.#chunk && this.#end > this.#start)
      this.#out.push(Buffer.from(this.#chunk, this.#start, this.#end - this.#start));
    this.#out = undefined;
    this.#chunk = undefined;
  }
}
