/** The fates of fields at an upstream of the Responses protocol. */

import type { Json } from '../../src/core/json/json.ts';
import type { Adaptation } from './adaptation.ts';
import { ANY } from './adaptation.ts';

const CHOICES: Adaptation[] = [
  { 'tool_choice.type': 'function' },
  { tool_choice: 'required' },
  { tool_choice: 'none' },
  { tool_choice: 'auto' },
];
const STRICT_PARAMETERS = { 'tools.0.parameters.additionalProperties': false };
/** A model without schemas of answers is told in words. */
const STRICT_ANSWER: Adaptation[] = [{ 'text.format.schema.additionalProperties': false }, { instructions: ANY }];

export const ADAPTED_FOR_RESPONSES: Record<string, Record<string, Adaptation>> = {
  'chat responses': {
    stream: { stream: true },
    'tools.function.parameters.additionalProperties': STRICT_PARAMETERS,
    'tools.function.strict': { 'tools.0.strict': true },
    'tool_choice.type': CHOICES,
    parallel_tool_calls: { parallel_tool_calls: false },
    logprobs: [{ 'include.1': 'message.output_text.logprobs' }, { 'include.0': 'message.output_text.logprobs' }],
    'response_format.json_schema.strict': { 'text.format.strict': true },
    'response_format.type': { 'text.format.type': 'json_object' },
    'response_format.json_schema.schema.additionalProperties': STRICT_ANSWER,
    'reasoning.max_tokens': { 'reasoning.effort': ANY },
    'reasoning.enabled': { 'reasoning.effort': 'medium' },
    enable_thinking: { 'reasoning.effort': 'none' },
    thinking: { 'reasoning.effort': 'none' },
  },
  'messages responses': {
    stream: { stream: true },
    'messages.content.source.media_type': 'a plain text needs no type',
    'messages.content.is_error': [
      { 'input.6.output': 'Error: result of the call' },
      { 'input.5.output': 'Error: result of the call' },
      { 'input.4.output': 'Error: result of the call' },
    ],
    'tools.input_schema.additionalProperties': STRICT_PARAMETERS,
    'tools.strict': { 'tools.0.strict': true },
    'tool_choice.type': CHOICES,
    'tool_choice.disable_parallel_tool_use': { parallel_tool_calls: false },
    'thinking.type': { 'reasoning.effort': ANY },
    'thinking.budget_tokens': { 'reasoning.effort': ANY },
    'output_config.format.schema.additionalProperties': STRICT_ANSWER,
    speed: { service_tier: 'priority' },
    service_tier: { service_tier: 'default' },
  },
  'generate responses': {
    stream: 'is in the address',
    'tools.functionDeclarations.parametersJsonSchema.additionalProperties': STRICT_PARAMETERS,
    'toolConfig.functionCallingConfig.mode': CHOICES,
    'generationConfig.responseLogprobs': { 'include.1': 'message.output_text.logprobs' },
    'generationConfig.responseMimeType': [{ 'text.format.type': 'json_schema' }, { 'text.format.type': 'json_object' }],
    'generationConfig.responseJsonSchema.additionalProperties': STRICT_ANSWER,
    'generationConfig.thinkingConfig': { 'reasoning.effort': ANY },
    serviceTier: { service_tier: 'default' },
  },
};

const VIDEO = { inlineData: { mimeType: 'video/mp4', data: 'AAAAIGZ0eXA=' } };

export const REFUSED_BY_RESPONSES: Record<string, Record<string, Json>> = {
  'chat responses': {
    n: { n: 2 },
    modalities: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
    'tools[0].type': { tools: [{ type: 'mcp', server_label: 'label' }] },
  },
  'messages responses': {
    container: { container: 'container-1' },
    mcp_servers: { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'server' }] },
    tools: { tools: [{ type: 'bash_20250124', name: 'bash' }] },
  },
  'generate responses': {
    cachedContent: { cachedContent: 'cachedContents/1' },
    'generationConfig.responseFormat': { generationConfig: { responseFormat: [{ text: { mimeType: 'text/plain' } }] } },
    'tools[0].codeExecution': { tools: [{ codeExecution: {} }] },
    'generationConfig.responseModalities': { generationConfig: { responseModalities: ['IMAGE'] } },
    'generationConfig.candidateCount': { generationConfig: { candidateCount: 2 } },
    contents: { contents: [{ role: 'user', parts: [VIDEO] }] },
  },
};
