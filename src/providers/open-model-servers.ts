/** Servers of open models, by default on this machine: Ollama, vLLM, llama.cpp and LM Studio. */

import type { ProviderType } from '../core/provider.ts';
import { jsonModeAsSchema, namedToolAsOnlyTool } from './dialect/fields.ts';
import { openModels } from './dialect/open-models.ts';
import { type DialectStep, dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

function openModelServer(
  about: Pick<ProviderType, 'id' | 'name' | 'environment' | 'baseUrl'>,
  ...steps: DialectStep[]
): ProviderType {
  return chatServer({
    ...about,
    keyless: true,
    responses: true,
    rules: { tokenField: 'max_tokens', systemRole: 'system' },
    adapt: dialect(...openModels, ...steps),
  });
}

export const ollama = openModelServer({
  id: 'ollama',
  name: 'Ollama',
  environment: ['OLLAMA_API_KEY'],
  baseUrl: 'http://localhost:11434/v1',
});

export const vllm = openModelServer({
  id: 'vllm',
  name: 'vLLM',
  environment: ['VLLM_API_KEY'],
  baseUrl: 'http://localhost:8000/v1',
});

export const llamaCpp = openModelServer({
  id: 'llama-cpp',
  name: 'llama.cpp',
  environment: ['LLAMA_API_KEY'],
  baseUrl: 'http://localhost:8080/v1',
});

/** Tool choice by keyword only, JSON mode only with a schema. */
export const lmStudio = openModelServer(
  {
    id: 'lm-studio',
    name: 'LM Studio',
    environment: ['LM_STUDIO_API_KEY'],
    baseUrl: 'http://localhost:1234/v1',
  },
  namedToolAsOnlyTool,
  jsonModeAsSchema,
);
