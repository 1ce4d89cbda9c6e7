/**
 * Durable records that wait for the store, as bytes and numbers: objects that wait for a second grow old, and the old generation
 * is collected again and again for them.
 */

/** A durable record of a request that ended, and its place in the journal. */
export interface EndedRecord {
  /** JSON. */
  payload: string;
  segment: number;
  end: number;
}

const MIN_BUFFER_BYTES = 16 * 1024;
/** A larger buffer is not kept for the next records. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
const COMMA = 44;

export class RecordQueue {
  /** Payloads, each with a comma behind it. */
  #bytes: Buffer = Buffer.allocUnsafeSlow(MIN_BUFFER_BYTES);
  /** By record: end of its payload in `#bytes`, and its segment and end in the journal. */
  readonly #payloadEnds: number[] = [];
  readonly #segments: number[] = [];
  readonly #ends: number[] = [];

  get length(): number {
    return this.#payloadEnds.length;
  }

  push({ payload, segment, end }: EndedRecord): void {
    const start = this.#startOf(this.length);
    this.#reserve(start, 3 * payload.length + 1);
    const payloadEnd = start + this.#bytes.write(payload, start, 'utf8');
    this.#bytes[payloadEnd] = COMMA;
    this.#payloadEnds.push(payloadEnd);
    this.#segments.push(segment);
    this.#ends.push(end);
  }

  /** Payloads of the records from one index to before another, with commas between them. */
  payloads(from: number, to: number): string {
    return this.#bytes.toString('utf8', this.#startOf(from), this.#payloadEnds[to - 1]);
  }

  /** Segment number of a record, and the offset of its end in the segment. */
  placeOf(index: number): Pick<EndedRecord, 'segment' | 'end'> {
    return { segment: this.#segments[index] as number, end: this.#ends[index] as number };
  }

  clear(): void {
    for (const list of [this.#payloadEnds, this.#segments, this.#ends]) list.length = 0;
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(MIN_BUFFER_BYTES);
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : (this.#payloadEnds[index - 1] as number) + 1;
  }

  #reserve(size: number, bytes: number): void {
    if (this.#bytes.length - size >= bytes) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, size + bytes));
    this.#bytes.copy(larger, 0, 0, size);
    this.#bytes = larger;
  }
}
