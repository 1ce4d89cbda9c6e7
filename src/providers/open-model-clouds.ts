/** Clouds of open models that speak chat completions with a bearer key, and Vercel's router. */

import type { ProviderType } from '../core/provider.ts';
import { allowedTools, effortNoneAsThinking, reasoningAsEffort } from './dialect/fields.ts';
import { plainHistory, reasoningContent } from './dialect/messages.ts';
import { applyRules } from './dialect/rules.ts';
import { dialect } from './dialect/step.ts';
import { chatServer } from './type.ts';

type Cloud = Pick<ProviderType, 'id' | 'name' | 'environment' | 'baseUrl'>;

const CLOUDS: readonly Cloud[] = [
  {
    id: 'together',
    name: 'Together AI',
    environment: ['TOGETHER_API_KEY'],
    baseUrl: 'https://api.together.xyz/v1',
  },
  {
    id: 'baseten',
    name: 'Baseten',
    environment: ['BASETEN_API_KEY'],
    baseUrl: 'https://inference.baseten.co/v1',
  },
  {
    id: 'deepinfra',
    name: 'DeepInfra',
    environment: ['DEEPINFRA_API_KEY', 'DEEPINFRA_TOKEN'],
    baseUrl: 'https://api.deepinfra.com/v1/openai',
  },
  {
    id: 'huggingface',
    name: 'Hugging Face Inference Providers',
    environment: ['HF_TOKEN', 'HUGGINGFACE_API_KEY'],
    baseUrl: 'https://router.huggingface.co/v1',
  },
  {
    id: 'hyperbolic',
    name: 'Hyperbolic',
    environment: ['HYPERBOLIC_API_KEY'],
    baseUrl: 'https://api.hyperbolic.xyz/v1',
  },
  {
    id: 'nebius',
    name: 'Nebius Token Factory',
    environment: ['NEBIUS_API_KEY'],
    baseUrl: 'https://api.tokenfactory.nebius.com/v1',
  },
  {
    id: 'novita',
    name: 'Novita AI',
    environment: ['NOVITA_API_KEY'],
    baseUrl: 'https://api.novita.ai/openai/v1',
  },
  {
    id: 'nscale',
    name: 'Nscale',
    environment: ['NSCALE_API_KEY'],
    baseUrl: 'https://inference.api.nscale.com/v1',
  },
  {
    id: 'nvidia',
    name: 'NVIDIA NIM',
    environment: ['NVIDIA_API_KEY', 'NVIDIA_NIM_API_KEY'],
    baseUrl: 'https://integrate.api.nvidia.com/v1',
  },
  {
    id: 'ovhcloud',
    name: 'OVHcloud AI Endpoints',
    environment: ['OVH_AI_ENDPOINTS_ACCESS_TOKEN', 'OVHCLOUD_API_KEY'],
    baseUrl: 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
  },
  {
    id: 'sambanova',
    name: 'SambaNova Cloud',
    environment: ['SAMBANOVA_API_KEY'],
    baseUrl: 'https://api.sambanova.ai/v1',
  },
  {
    id: 'scaleway',
    name: 'Scaleway Generative APIs',
    environment: ['SCW_SECRET_KEY'],
    baseUrl: 'https://api.scaleway.ai/v1',
  },
  {
    id: 'siliconflow',
    name: 'SiliconFlow',
    environment: ['SILICONFLOW_API_KEY'],
    baseUrl: 'https://api.siliconflow.com/v1',
  },
  {
    id: 'venice',
    name: 'Venice AI',
    environment: ['VENICE_API_KEY'],
    baseUrl: 'https://api.venice.ai/api/v1',
  },
];

/** Refuses penalties and `logit_bias`; takes earlier reasoning as `reasoning`. */
const cerebras = chatServer({
  id: 'cerebras',
  name: 'Cerebras',
  environment: ['CEREBRAS_API_KEY'],
  baseUrl: 'https://api.cerebras.ai/v1',
  rules: { systemRole: 'system', penalties: false, logitBias: false },
  adapt: dialect(reasoningAsEffort, allowedTools, applyRules, plainHistory('reasoning')),
});

/** GLM: `thinking` switches reasoning, and there is no JSON Schema. */
const zai = chatServer({
  id: 'zai',
  name: 'Z.ai',
  environment: ['ZAI_API_KEY'],
  baseUrl: 'https://api.z.ai/api/paas/v4',
  rules: { tokenField: 'max_tokens', systemRole: 'system', schema: false, reasoningHistory: 'accepted' },
  adapt: dialect(reasoningAsEffort, effortNoneAsThinking, allowedTools, applyRules, reasoningContent),
});

/** A router, which adapts requests to its models itself. Opaque state belongs to the vendor of the model. */
const vercel = chatServer({
  id: 'vercel',
  name: 'Vercel AI Gateway',
  environment: ['AI_GATEWAY_API_KEY', 'VERCEL_AI_GATEWAY_API_KEY'],
  baseUrl: 'https://ai-gateway.vercel.sh/v1',
  responses: true,
  family: (model) => model.split('/', 1)[0] ?? model,
});

export const openModelClouds: readonly ProviderType[] = [
  ...CLOUDS.map((cloud) =>
    chatServer({
      ...cloud,
      rules: { tokenField: 'max_tokens', systemRole: 'system' },
      adapt: dialect(allowedTools, applyRules),
    }),
  ),
  cerebras,
  zai,
  vercel,
];
