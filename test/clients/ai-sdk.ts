/** The AI SDK with every provider package that reaches the gateway. */

import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenRouter } from '@openrouter/ai-sdk-provider';
import type { JSONValue, LanguageModel } from 'ai';
import type { GatewayProcess } from './gateway-process.ts';

type Connection = Pick<GatewayProcess, 'url' | 'key'>;

/** One way to reach any model by its name. */
export interface AiSdk {
  model(name: string): LanguageModel;
  /** The same with another key. */
  withKey(key: string): AiSdk;
  /** Chat completions as `@ai-sdk/openai` reads them have no reasoning. */
  readsReasoning: boolean;
}

/** What makes each package think a little and show it. */
export const THINKING = {
  openai: { reasoningEffort: 'low', forceReasoning: true },
  polygate: { reasoningEffort: 'low' },
  openrouter: { reasoning: { effort: 'low' } },
  anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
  google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } },
} satisfies Record<string, Record<string, JSONValue>>;

const PACKAGES: Record<string, (gateway: Connection) => (name: string) => LanguageModel> = {
  '@ai-sdk/openai': ({ url, key }) => createOpenAI({ baseURL: `${url}/v1`, apiKey: key }).chat,
  '@ai-sdk/openai-compatible': ({ url, key }) =>
    createOpenAICompatible({
      name: 'polygate',
      baseURL: `${url}/v1`,
      apiKey: key,
      includeUsage: true,
      supportsStructuredOutputs: true,
    }),
  '@openrouter/ai-sdk-provider': ({ url, key }) =>
    createOpenRouter({ baseURL: `${url}/v1`, apiKey: key, compatibility: 'strict' }),
  '@ai-sdk/anthropic': ({ url, key }) => createAnthropic({ baseURL: `${url}/anthropic/v1`, apiKey: key }),
  '@ai-sdk/google': ({ url, key }) => createGoogleGenerativeAI({ baseURL: `${url}/gemini/v1beta`, apiKey: key }),
};

// What the packages warn of are names of models that they don't know.
(globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;

export function aiSdks(gateway: () => Connection): Record<string, () => AiSdk> {
  return Object.fromEntries(Object.keys(PACKAGES).map((name) => [name, () => aiSdk(name, gateway())]));
}

function aiSdk(name: string, { url, key }: Connection): AiSdk {
  return {
    model: (model) => PACKAGES[name]?.({ url, key })(model) ?? model,
    withKey: (other) => aiSdk(name, { url, key: other }),
    readsReasoning: name !== '@ai-sdk/openai',
  };
}
