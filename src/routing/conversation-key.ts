/** Conversation key: identifies the conversation of a call; worked out when it is first read, before the body of a long stream is released. */

import type { InferenceCall } from './inference-call.ts';

export class ConversationKey {
  readonly #call: InferenceCall;
  readonly #model: string;
  #known: { text: string; isContinuedById: boolean } | undefined;

  constructor(call: InferenceCall, model: string) {
    this.#call = call;
    this.#model = model;
  }

  /** The id of the conversation that the client gave, or its beginning. */
  get text(): string {
    return this.#read().text;
  }

  /** `text` within the API key and the model. */
  get key(): string {
    return this.#keyOf(this.text);
  }

  /** `key` of a request that names the conversation by the id of the last answer; undefined if none will. */
  keyBehind(answer: string): string | undefined {
    return this.#read().isContinuedById ? this.#keyOf(answer) : undefined;
  }

  #read(): { text: string; isContinuedById: boolean } {
    const { operation, body, headers } = this.#call;
    this.#known ??= {
      text: operation.conversation(body, headers),
      isContinuedById: operation.isContinuedById?.(body) === true,
    };
    return this.#known;
  }

  #keyOf(text: string): string {
    return `${this.#call.owner} ${this.#model} ${text}`;
  }
}
