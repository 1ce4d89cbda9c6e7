/** Conversation key: identifies the conversation of a call; worked out when it is first read. */

import type { InferenceCall } from './inference-call.ts';

export class ConversationKey {
  readonly #call: InferenceCall;
  readonly #model: string;
  #text: string | undefined;

  constructor(call: InferenceCall, model: string) {
    this.#call = call;
    this.#model = model;
  }

  /** The id of the conversation that the client gave, or its beginning. */
  get text(): string {
    const { operation, body, headers } = this.#call;
    this.#text ??= operation.conversation(body, headers);
    return this.#text;
  }

  /** `text` within the API key and the model. */
  get key(): string {
    return this.#keyOf(this.text);
  }

  /** `key` of a request that names the conversation by the id of the last answer; undefined if none will. */
  keyBehind(answer: string): string | undefined {
    const { operation, body } = this.#call;
    return operation.isContinuedById?.(body) ? this.#keyOf(answer) : undefined;
  }

  #keyOf(text: string): string {
    return `${this.#call.owner} ${this.#model} ${text}`;
  }
}
