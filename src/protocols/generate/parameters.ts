/** Parameter names of generateContent, for errors and for the header of dropped parameters. */

import { createParameterNames } from '../parameter-names.ts';

const NAMES: Record<string, string> = {
  turns: 'contents',
  toolChoice: 'toolConfig.functionCallingConfig',
  parallelCalls: 'toolConfig',
  webSearch: 'tools.googleSearch',
  maxTokens: 'generationConfig.maxOutputTokens',
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  frequencyPenalty: 'generationConfig.frequencyPenalty',
  presencePenalty: 'generationConfig.presencePenalty',
  seed: 'generationConfig.seed',
  stop: 'generationConfig.stopSequences',
  candidates: 'generationConfig.candidateCount',
  logprobs: 'generationConfig.responseLogprobs',
  format: 'generationConfig.responseJsonSchema',
  'format.schema': 'generationConfig.responseJsonSchema',
  reasoning: 'generationConfig.thinkingConfig',
  modalities: 'generationConfig.responseModalities',
  audio: 'generationConfig.speechConfig',
  tier: 'serviceTier',
  cache: 'cachedContent',
  'turns.parts': 'contents.parts',
  'turns.parts.result': 'contents.parts.functionResponse',
  'turns.parts.detail': 'generationConfig.mediaResolution',
  'messages.content.image_url.detail': 'generationConfig.mediaResolution',
  'turns.parts.title': 'contents.parts.inlineData.displayName',
  'tools.parameters': 'tools.functionDeclarations.parametersJsonSchema',
  'reasoning.effort': 'generationConfig.thinkingConfig.thinkingLevel',
  'reasoning.budget': 'generationConfig.thinkingConfig.thinkingBudget',
  'reasoning.visible': 'generationConfig.thinkingConfig.includeThoughts',
};

/** The rest behind a known name is kept. */
export const parameterName = createParameterNames(NAMES, (rest) => rest);
