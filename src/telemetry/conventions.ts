/** Attributes of OpenTelemetry's conventions for generative AI. */

import type { Attributes } from '@opentelemetry/api';
import type { Usage } from '../core/chat.ts';
import type { AttemptFacts, CallFacts } from './observer.ts';

/** Names in the conventions of providers that have another id here. */
const PROVIDER_NAMES: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  xai: 'x_ai',
};

/** Name of a provider type in OpenTelemetry's conventions; an unknown id is returned unchanged. */
export function providerName(id: string): string {
  return Object.hasOwn(PROVIDER_NAMES, id) ? (PROVIDER_NAMES[id] as string) : id;
}

/** Attributes of the request. */
export function requestAttributes(call: CallFacts, { provider, upstreamModel }: AttemptFacts): Attributes {
  return {
    'gen_ai.operation.name': call.operation,
    'gen_ai.provider.name': providerName(provider),
    'gen_ai.request.model': upstreamModel,
  };
}

/** Attributes of the response, as far as known. */
export function responseAttributes({ usage, finish, responseModel }: CallFacts): Attributes {
  return {
    ...(responseModel !== undefined && { 'gen_ai.response.model': responseModel }),
    ...(finish !== undefined && { 'gen_ai.response.finish_reasons': [finish] }),
    ...usageAttributes(usage),
  };
}

/** Token counts by the conventions: input includes cached tokens, and output includes reasoning. */
function usageAttributes(usage: Partial<Usage> = {}): Attributes {
  const attributes: Attributes = {};
  for (const [name, member] of Object.entries(USAGE_ATTRIBUTES)) {
    const count = usage[member];
    if (count !== undefined) attributes[`gen_ai.usage.${name}`] = count;
  }
  return attributes;
}

const USAGE_ATTRIBUTES = {
  input_tokens: 'input',
  output_tokens: 'output',
  'cache_read.input_tokens': 'cached',
  'cache_creation.input_tokens': 'cacheWrite',
  'reasoning.output_tokens': 'reasoning',
} as const satisfies Record<string, keyof Usage>;
