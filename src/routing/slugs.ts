/** Provider slugs: ids, types and well-known aliases that requests may use for providers. */

import { GatewayError } from '../core/errors.ts';
import type { Selector } from './policy.ts';

/** Our ids by the names that other gateways use. */
const PROVIDER_ALIASES: Record<string, string> = {
  gemini: 'google',
  'google-ai-studio': 'google',
  grok: 'xai',
  'x-ai': 'xai',
  mistralai: 'mistral',
  'mistral-ai': 'mistral',
  moonshotai: 'moonshot',
  togetherai: 'together',
  'together-ai': 'together',
  'fireworks-ai': 'fireworks',
  'novita-ai': 'novita',
  'z-ai': 'zai',
  'perplexity-ai': 'perplexity',
};

/** `known` are the ids and types of the configured providers. */
export function createProviderSlugs(known: ReadonlySet<string>) {
  function providerOf(text: string): string | undefined {
    const name = text.toLowerCase();
    if (known.has(name)) return name;
    const own = Object.hasOwn(PROVIDER_ALIASES, name) ? PROVIDER_ALIASES[name] : undefined;
    return own !== undefined && known.has(own) ? own : undefined;
  }

  /** Throws `invalid_request` naming `param` for an unknown provider. */
  function selector(text: string, param: string): Selector {
    const slash = text.indexOf('/');
    const provider = providerOf(slash < 0 ? text : text.slice(0, slash));
    if (provider === undefined) {
      const names = [...known].sort().join(', ');
      throw new GatewayError('invalid_request', `${param}: there is no provider "${text}"; known are: ${names}.`, {
        param,
      });
    }
    return slash < 0 ? { text, provider } : { text, provider, variant: text.slice(slash + 1) };
  }

  return { providerOf, selector };
}

export type ProviderSlugs = ReturnType<typeof createProviderSlugs>;
