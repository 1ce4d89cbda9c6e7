/** Parameter names of generateContent, for errors and for the header of dropped parameters. */

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
  reasoning: 'generationConfig.thinkingConfig',
  modalities: 'generationConfig.responseModalities',
  audio: 'generationConfig.speechConfig',
  tier: 'serviceTier',
  cache: 'cachedContent',
};

const DETAILS: Record<string, string> = {
  'turns.parts': 'contents.parts',
  'turns.parts.result': 'contents.parts.functionResponse',
  'turns.parts.detail': 'generationConfig.mediaResolution',
  'turns.parts.title': 'contents.parts.inlineData.displayName',
  'tools.parameters': 'tools.functionDeclarations.parametersJsonSchema',
  'reasoning.effort': 'generationConfig.thinkingConfig.thinkingLevel',
  'reasoning.budget': 'generationConfig.thinkingConfig.thinkingBudget',
  'reasoning.visible': 'generationConfig.thinkingConfig.includeThoughts',
};

/** A dotted detail keeps its tail behind the name of the parameter. */
export function parameterName(parameter: string): string {
  const dot = parameter.lastIndexOf('.');
  if (dot < 0) return NAMES[parameter] ?? parameter;
  return DETAILS[parameter] ?? parameterName(parameter.slice(0, dot)) + parameter.slice(dot);
}
