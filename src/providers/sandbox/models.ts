/** Catalog entries of the sandbox models. */

import type { CatalogModel } from '../../core/model.ts';
import { EMBED_MODEL } from './embed.ts';
import { ASPECT_RATIOS, RESOLUTIONS, SIZES } from './video/sizes.ts';
import { MAX_COUNT, MAX_SECONDS } from './video/task.ts';

/** Context window. */
export const CONTEXT_TOKENS = 131_072;

/** Maximum output, including reasoning and calls. */
export const MAX_OUTPUT_TOKENS = 16_384;

const COMMON_PARAMETERS = [
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'n',
  'logprobs',
  'top_logprobs',
  'response_format',
];
const TOOL_PARAMETERS = ['tools', 'tool_choice', 'parallel_tool_calls'];

interface Facts {
  id: string;
  name: string;
  description: string;
  parameters?: string[];
  reasons?: boolean;
}

const MODELS: Facts[] = [
  {
    id: 'echo',
    name: 'Sandbox Echo (no AI)',
    description: 'No AI model: repeats the last message of the user, word by word. For trying out clients at no cost.',
  },
  {
    id: 'tools',
    name: 'Sandbox Tools (no AI)',
    description:
      'No AI model: calls the first tool it is offered with arguments that fit its schema, then repeats the result.',
    parameters: TOOL_PARAMETERS,
  },
  {
    id: 'reasoner',
    name: 'Sandbox Reasoner (no AI)',
    description:
      'No AI model: shows made-up reasoning of the wanted length, then repeats the last message or calls a tool.',
    parameters: [...TOOL_PARAMETERS, 'reasoning', 'reasoning_effort', 'include_reasoning'],
    reasons: true,
  },
  {
    id: 'faulty',
    name: 'Sandbox Faulty (no AI)',
    description:
      'No AI model: fails the way the last message says, e.g. "status 429" or "cut after 3". Asks back if it says nothing.',
  },
];

/** 2026-11-01, in Unix seconds. */
const CREATED_AT_S = 1_793_491_200;

/** The models of a sandbox provider with this id. */
export function modelsOf(provider: string): CatalogModel[] {
  return [...MODELS.map((facts) => chatModel(provider, facts)), embedModel(provider), videoModel(provider)];
}

type Identity = 'id' | 'provider' | 'upstreamId' | 'canonicalSlug' | 'created' | 'ownedBy' | 'version';
type Common = Identity | 'contextLength' | 'tokenizer' | 'instructType' | 'isModerated' | 'expirationDate';

function common(provider: string, id: string): Pick<CatalogModel, Common> {
  return {
    id: `${provider}/${id}`,
    provider,
    upstreamId: id,
    canonicalSlug: `${provider}/${id}`,
    created: CREATED_AT_S,
    ownedBy: 'sandbox',
    version: '1',
    contextLength: CONTEXT_TOKENS,
    tokenizer: 'sandbox',
    instructType: null,
    isModerated: false,
    expirationDate: null,
  };
}

function chatModel(provider: string, { id, name, description, parameters = [], reasons = false }: Facts): CatalogModel {
  return {
    ...common(provider, id),
    name,
    description,
    maxOutput: MAX_OUTPUT_TOKENS,
    inputModalities: ['text', 'image', 'file', 'audio', 'video'],
    outputModalities: ['text'],
    pricing: { prompt: '0', completion: '0' },
    supportedParameters: [...COMMON_PARAMETERS, ...parameters],
    rules: {
      maxOutput: MAX_OUTPUT_TOKENS,
      sampling: 'always',
      bothSampling: true,
      penalties: true,
      logprobs: true,
      logitBias: true,
      stop: true,
      forcedChoice: true,
      prefill: true,
      midSystem: true,
      reasoning: reasons ? 'effort' : 'none',
      reasoningOff: true,
      schemaWithTools: true,
      schema: true,
      inputModalities: ['text', 'image', 'file', 'audio', 'video'],
    },
  };
}

function embedModel(provider: string): CatalogModel {
  return {
    ...common(provider, EMBED_MODEL),
    name: 'Sandbox Embed (no AI)',
    description: 'No AI model: makes vectors of a hash of the text, so that the same text has the same vector.',
    maxOutput: 0,
    inputModalities: ['text'],
    outputModalities: ['embeddings'],
    pricing: { prompt: '0', completion: '0' },
    supportedParameters: ['dimensions'],
    rules: {},
  };
}

function videoModel(provider: string): CatalogModel {
  return {
    ...common(provider, 'video'),
    name: 'Sandbox Video (no AI)',
    description:
      'No AI model: makes a plain video in which a bar grows, or fails, hangs or expires if the prompt says so.',
    maxOutput: 0,
    inputModalities: ['text', 'image'],
    outputModalities: ['video'],
    pricing: { prompt: '0', completion: '0' },
    supportedParameters: [],
    rules: {},
    video: {
      durations: Array.from({ length: MAX_SECONDS }, (_, index) => index + 1),
      resolutions: RESOLUTIONS,
      aspectRatios: ASPECT_RATIOS,
      sizes: SIZES,
      frames: ['first_frame', 'last_frame'],
      seed: true,
      count: MAX_COUNT,
      defaults: { duration: 4, resolution: '720p', aspectRatio: '16:9' },
      prices: { 'per-video-second': '0' },
    },
  };
}
