/** Registry of provider types by id. */

import type { ProviderType } from '../core/provider.ts';
import { anthropic } from './anthropic.ts';
import { byteplus, volcengine } from './ark.ts';
import { azure } from './azure.ts';
import { bedrock } from './bedrock.ts';
import { cohere } from './cohere.ts';
import { dashscope } from './dashscope.ts';
import { deepseek } from './deepseek.ts';
import { fal } from './fal.ts';
import { fireworks } from './fireworks.ts';
import { google } from './google.ts';
import { groq } from './groq.ts';
import { kling } from './kling.ts';
import { luma } from './luma.ts';
import { minimax } from './minimax.ts';
import { mistral } from './mistral.ts';
import { moonshot } from './moonshot.ts';
import { openModelClouds } from './open-model-clouds.ts';
import { llamaCpp, lmStudio, ollama, vllm } from './open-model-servers.ts';
import { openai } from './openai.ts';
import { openaiCompatible, openResponses } from './openai-compatible.ts';
import { openrouter } from './openrouter.ts';
import { perplexity } from './perplexity.ts';
import { polygate } from './polygate.ts';
import { replicate } from './replicate.ts';
import { runway } from './runway.ts';
import { sandbox } from './sandbox/index.ts';
import { vertex } from './vertex.ts';
import { xai } from './xai.ts';

const types: readonly ProviderType[] = [
  openai,
  anthropic,
  google,
  vertex,
  bedrock,
  azure,
  deepseek,
  mistral,
  xai,
  groq,
  openrouter,
  fireworks,
  moonshot,
  perplexity,
  cohere,
  byteplus,
  volcengine,
  minimax,
  dashscope,
  ...openModelClouds,
  fal,
  replicate,
  runway,
  kling,
  luma,
  ollama,
  vllm,
  llamaCpp,
  lmStudio,
  openaiCompatible,
  openResponses,
  polygate,
  sandbox,
];

export const providerTypes: ReadonlyMap<string, ProviderType> = new Map(types.map((type) => [type.id, type]));
