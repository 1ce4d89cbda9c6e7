/** Fates of fields at Converse, which only upstreams speak; of a Nova model, which takes the most of it. */

import type { Json } from '../../src/core/json/json.ts';
import { type Adaptation, ANY } from './adaptation.ts';

const BY_CONTENT = 'the gateway fetches it and sends its content';
const FORMAT = 'its format is a word of its own';
const OPEN = 'parameters have no such member there';
const ADDRESS = 'is in the address';
const USUAL = 'the default there';

/** Sentences of the system prompt, behind the system texts of the client. */
const WORDS: Adaptation = [{ 'system.0.text': ANY }, { 'system.2.text': ANY }, { 'system.1.text': ANY }];
const CHOICE: Adaptation = [
  { 'toolConfig.toolChoice.any': {} },
  { 'toolConfig.toolChoice.tool': ANY },
  'a model that cannot be forced is told in its system prompt',
];
const LEFT_OUT = 'tools that may not be called are left out';
const EFFORT: Adaptation = [
  { 'additionalModelRequestFields.reasoningConfig.type': 'disabled' },
  { 'additionalModelRequestFields.reasoningConfig.maxReasoningEffort': ANY },
];

export const ADAPTED_FOR_CONVERSE: Record<string, Record<string, Adaptation>> = {
  'chat converse': {
    stream: ADDRESS,
    'messages.content.image_url.url': BY_CONTENT,
    'messages.content.file.filename': { 'messages.0.content.4.document.name': 'name-of-file' },
    'messages.content.file.file_data': { 'messages.0.content.4.document.format': 'pdf' },
    'tools.function.parameters.additionalProperties': OPEN,
    'tools.function.name': LEFT_OUT,
    'tool_choice=auto': USUAL,
    'tool_choice=none': LEFT_OUT,
    tool_choice: CHOICE,
    'response_format.json_schema.schema.additionalProperties': WORDS,
    'response_format.type': WORDS,
    reasoning_effort: EFFORT,
    reasoning: EFFORT,
    enable_thinking: EFFORT,
    thinking: EFFORT,
    'service_tier=auto': USUAL,
    service_tier: { 'serviceTier.type': ANY },
    temperature: { 'inferenceConfig.temperature': 1 },
  },
  'messages converse': {
    stream: ADDRESS,
    'messages.content.source.url': BY_CONTENT,
    'messages.content.source.media_type': FORMAT,
    'messages.content.source.data': 'a text is sent as the bytes of a file',
    'messages.content.content.source.media_type': FORMAT,
    'messages.content.is_error': { 'messages.2.content.0.toolResult.status': 'error' },
    'tools.input_schema.additionalProperties': OPEN,
    'tools.name': [{ 'toolConfig.tools.1.systemTool.name': 'nova_grounding' }, LEFT_OUT],
    'tool_choice.type=auto': USUAL,
    'tool_choice.type=none': LEFT_OUT,
    'tool_choice.type': CHOICE,
    'output_config.format.schema.additionalProperties': WORDS,
    'output_config.effort': EFFORT,
    thinking: EFFORT,
    speed: { 'serviceTier.type': 'priority' },
    'service_tier=auto': USUAL,
    service_tier: { 'serviceTier.type': 'default' },
  },
  'generate converse': {
    'contents.parts.inlineData.mimeType': FORMAT,
    'contents.parts.fileData.mimeType': FORMAT,
    'contents.parts.fileData.fileUri': BY_CONTENT,
    'tools.functionDeclarations.parametersJsonSchema.additionalProperties': OPEN,
    'tools.functionDeclarations.name': LEFT_OUT,
    'toolConfig.functionCallingConfig.mode=AUTO': USUAL,
    'toolConfig.functionCallingConfig.mode=VALIDATED': USUAL,
    'toolConfig.functionCallingConfig.mode=NONE': LEFT_OUT,
    'toolConfig.functionCallingConfig.mode': CHOICE,
    'generationConfig.responseMimeType': WORDS,
    'generationConfig.responseJsonSchema.additionalProperties': WORDS,
    'generationConfig.thinkingConfig': EFFORT,
    serviceTier: { 'serviceTier.type': ANY },
  },
};

const FILE = { type: 'file', file: { file_id: 'file-1' } };

export const REFUSED_BY_CONVERSE: Record<string, Record<string, Json>> = {
  'chat converse': {
    n: { n: 2 },
    modalities: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
    messages: { messages: [{ role: 'user', content: [FILE] }] },
    'tools[0].type': { tools: [{ type: 'mcp', server_label: 'label' }] },
  },
  'messages converse': {
    container: { container: 'container-1' },
    mcp_servers: { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'server' }] },
    tools: { tools: [{ type: 'bash_20250124', name: 'bash' }] },
  },
  'generate converse': {
    cachedContent: { cachedContent: 'cachedContents/1' },
    'generationConfig.responseFormat': { generationConfig: { responseFormat: [{ text: { mimeType: 'text/plain' } }] } },
    'tools[0].codeExecution': { tools: [{ codeExecution: {} }] },
    'generationConfig.responseModalities': { generationConfig: { responseModalities: ['IMAGE'] } },
    'generationConfig.candidateCount': { generationConfig: { candidateCount: 2 } },
  },
};
