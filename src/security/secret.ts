/** Secret value: printing, logging or serialising it gives a mask; `reveal` returns it. Secrets are compared in constant time. */

import { timingSafeEqual } from 'node:crypto';

const MASK_CHARACTERS = 4;
const MIN_PARTIALLY_SHOWN_CHARACTERS = 12;

export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  /** The first four characters of a long secret. */
  mask(): string {
    return this.#value.length < MIN_PARTIALLY_SHOWN_CHARACTERS ? '…' : `${this.#value.slice(0, MASK_CHARACTERS)}…`;
  }

  /** Returns the mask, so that a printed secret stays hidden. */
  toString(): string {
    return this.mask();
  }

  toJSON(): string {
    return this.mask();
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.mask();
  }
}

/** Takes as long wherever the texts differ; texts of another length are told apart at once. */
export function isSameSecret(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
