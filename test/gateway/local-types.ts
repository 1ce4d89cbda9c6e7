/** Provider types of which servers are expected at addresses of a test, instead of the usual ones. */

import type { ProviderType } from '../../src/core/provider.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { chatServer } from '../../src/providers/type.ts';

/** As Ollama answers. */
export const OLLAMA_LIST = {
  object: 'list',
  data: ['qwen3:8b', 'llama3.2:3b', 'gemma3:4b', 'phi4:14b', 'mistral:7b', 'deepseek-r1:8b'].map((id) => ({
    ...{ id, object: 'model', created: 1_760_000_000, owned_by: 'library' },
  })),
};

/** Nobody listens there. */
export const CLOSED_URL = 'http://127.0.0.1:9';

/** All types, with those that are named at these URLs. */
export function typesAt(urls: Record<string, string>): Map<string, ProviderType> {
  const moved = Object.entries(urls).map(([id, url]): [string, ProviderType] => {
    const name = providerTypes.get(id)?.name ?? id;
    return [id, chatServer({ id, name, environment: ['TRIAL_API_KEY'], keyless: true, baseUrl: `${url}/v1` })];
  });
  return new Map([...providerTypes, ...moved]);
}
