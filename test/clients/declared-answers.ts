/** Answers of the gateway held against the types that the official SDKs declare for them. */

import { join } from 'node:path';
import type { Json } from '../../src/core/json/json.ts';
import { readSdkTypes, type SdkTypes } from './sdk-types.ts';
import type { UpstreamProtocol } from './upstreams.ts';

interface Declared {
  sdk: SdkTypes;
  whole: string;
  /** Type of each event of a stream. */
  event: string;
}

const declared = (path: string, whole: string, event: string): Declared => ({
  sdk: readSdkTypes(join(import.meta.dirname, 'node_modules', path)),
  whole,
  event,
});

const DECLARED: Record<UpstreamProtocol, Declared> = {
  chat: declared('openai/resources/chat/completions/completions.d.ts', 'ChatCompletion', 'ChatCompletionChunk'),
  messages: declared('@anthropic-ai/sdk/resources/messages/messages.d.ts', 'Message', 'RawMessageStreamEvent'),
  generate: declared('@google/genai/dist/genai.d.ts', 'GenerateContentResponse', 'GenerateContentResponse'),
  responses: declared('openai/resources/responses/responses.d.ts', 'Response', 'ResponseStreamEvent'),
};

/** Ends of misfits in which the types are stricter than their own providers. */
const STRICTER = [
  // OpenAI sends null in both as well.
  'ChatCompletion.system_fingerprint: null',
  '.response.usage: null',
  // The SDK makes it.
  '.output_text: undefined',
  'Response.output_text: undefined',
  // Anthropic leaves it out for older models, and other providers refuse it when it comes back.
  '.caller: undefined',
  // Tiers that only another protocol has keep their names.
  '.service_tier: "batch"',
  '.service_tier: "ultrafast"',
  '.service_tier: "offpeak"',
  '.service_tier: "provisioned"',
];

/** Places of answers that their types do not allow, each once. */
export class Misfits {
  readonly #declared: Declared;
  readonly #found = new Set<string>();

  constructor(protocol: UpstreamProtocol) {
    this.#declared = DECLARED[protocol];
  }

  addWhole(answer: Json): void {
    this.#add(this.#declared.whole, answer);
  }

  /** The data of the events of a stream. */
  addStream(data: readonly Json[]): void {
    for (const event of data) if (event.type !== 'ping') this.#add(this.#declared.event, event);
  }

  list(): string[] {
    return [...this.#found];
  }

  #add(type: string, value: Json): void {
    const misfits = this.#declared.sdk.misfitsOf(type, value);
    for (const misfit of misfits) if (!STRICTER.some((end) => misfit.endsWith(end))) this.#found.add(misfit);
  }
}
