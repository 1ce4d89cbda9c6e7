/** The last samples of an endpoint, as numbers: objects that live for minutes grow old, and their collection costs a multiple. */

const FIRST_CAPACITY = 16;
const MAX_SAMPLES = 500;
/** Numbers of a sample: its time, its latency, its throughput. */
const FIELDS = 3;

export interface TimedSample {
  /** Milliseconds. */
  at: number;
  /** Seconds. */
  latency: number;
  /** Tokens per second; undefined if not known. */
  throughput?: number | undefined;
}

export class SampleRing {
  #numbers = new Float64Array(FIRST_CAPACITY * FIELDS);
  /** Number of samples so far. */
  #count = 0;

  add({ at, latency, throughput = Number.NaN }: TimedSample): void {
    if (this.#count === this.#capacity && this.#capacity < MAX_SAMPLES) this.#grow();
    const place = (this.#count % this.#capacity) * FIELDS;
    this.#numbers[place] = at;
    this.#numbers[place + 1] = latency;
    this.#numbers[place + 2] = throughput;
    this.#count++;
  }

  /** Latencies of the samples since a time, in no order. */
  latencies(since: number): number[] {
    return this.#values(1, since);
  }

  /** Known throughputs of the samples since a time, in no order. */
  throughputs(since: number): number[] {
    return this.#values(2, since);
  }

  get lastAt(): number {
    if (this.#count === 0) return Number.NEGATIVE_INFINITY;
    return this.#numbers[((this.#count - 1) % this.#capacity) * FIELDS] as number;
  }

  get #capacity(): number {
    return this.#numbers.length / FIELDS;
  }

  #grow(): void {
    const larger = new Float64Array(Math.min(2 * this.#capacity, MAX_SAMPLES) * FIELDS);
    larger.set(this.#numbers);
    this.#numbers = larger;
  }

  #values(field: number, since: number): number[] {
    const values: number[] = [];
    const end = Math.min(this.#count, this.#capacity) * FIELDS;
    for (let place = 0; place < end; place += FIELDS) {
      const value = this.#numbers[place + field] as number;
      if ((this.#numbers[place] as number) >= since && !Number.isNaN(value)) values.push(value);
    }
    return values;
  }
}
