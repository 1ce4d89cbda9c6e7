/** Conversation key: identifies the conversation of a call; worked out when it is first read, before the body of a long stream is released. */

import { hash } from 'node:crypto';
import type { InferenceCall } from './inference-call.ts';

export class ConversationKey {
  readonly #call: InferenceCall;
  readonly #model: string;
  #known: { digest: string; key: string; isContinuedById: boolean } | undefined;

  constructor(call: InferenceCall, model: string) {
    this.#call = call;
    this.#model = model;
  }

  /** Of the id of the conversation that the client gave, or of its beginning: the same for all API keys. */
  get digest(): string {
    return this.#read().digest;
  }

  /** Of the conversation within the API key and the model. */
  get key(): string {
    return this.#read().key;
  }

  /** `key` of a request that names the conversation by the id of the last answer; undefined if none will. */
  keyBehind(answer: string): string | undefined {
    return this.#read().isContinuedById ? this.#keyOf(digestOf(answer)) : undefined;
  }

  #read(): { digest: string; key: string; isContinuedById: boolean } {
    if (this.#known) return this.#known;
    const { operation, body, headers } = this.#call;
    const digest = digestOf(operation.conversation(body, headers));
    this.#known = { digest, key: this.#keyOf(digest), isContinuedById: operation.isContinuedById?.(body) === true };
    return this.#known;
  }

  #keyOf(digest: string): string {
    return digestOf(`${this.#call.owner} ${this.#model} ${digest}`);
  }
}

/** Bounded, as keys that are kept must be. */
function digestOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 22);
}
