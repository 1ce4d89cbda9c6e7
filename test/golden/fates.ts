/** The fates of fields whose values don't arrive as they are; `fields.test.ts` holds every request against them. */

import type { Json } from '../../src/core/json/json.ts';
import { type Adaptation, ANY } from './adaptation.ts';
import { ADAPTED_FOR_CONVERSE, REFUSED_BY_CONVERSE } from './converse-fates.ts';
import { ADAPTED_FOR_RESPONSES, REFUSED_BY_RESPONSES } from './responses-fates.ts';

/** Types that are a choice of the client, not the kind of an object. */
export const CHOICES = new Set(['tool_choice.type', 'thinking.type', 'response_format.type']);

/** Names in the header that stand for more than the field of that name. */
export const ALIASES: Record<string, string[]> = {
  cache_control: ['prompt_cache_breakpoint'],
  logprobs: ['top_logprobs'],
  reasoning: ['reasoning_effort'],
  thinking: ['output_config.effort'],
  user: ['safety_identifier'],
  tool_choice: ['function_call'],
  'generationConfig.responseLogprobs': ['generationConfig.logprobs'],
  'generationConfig.mediaResolution': ['contents.parts.mediaResolution'],
};

const FORCED_IN_WORDS = 'a model that cannot be forced is told in its system prompt';
const ALWAYS_STRICT = 'schemas of answers are always kept there';
const USUAL = 'the default of the other protocol';

/** By client protocol, or by client and upstream protocol, then by field, or by field and value (`stop=x`). */
export const ADAPTED: Record<string, Record<string, Adaptation>> = {
  ...ADAPTED_FOR_RESPONSES,
  ...ADAPTED_FOR_CONVERSE,
  chat: {
    stream_options: 'shapes the answer, which the gateway writes',
    include_reasoning: 'reasoning is left out of the answer',
    'reasoning.exclude': 'reasoning is left out of the answer',
    'response_format.json_schema.name': 'a name for logs and caches, which only chat completions asks for',
    'response_format.json_schema.strict': ALWAYS_STRICT,
  },
  'chat messages': {
    stream: { stream: true },
    'messages.content.prompt_cache_breakpoint': { 'system.0.cache_control': { type: 'ephemeral', ttl: '1h' } },
    'tools.function.parameters.additionalProperties': { 'tools.0.input_schema.additionalProperties': false },
    'tools.function.strict': { 'tools.0.strict': true },
    tool_choice: [{ 'tool_choice.type': 'any' }, { 'tool_choice.type': 'auto' }, { 'tool_choice.type': 'none' }],
    'tool_choice.type': [{ 'tool_choice.type': 'tool' }, FORCED_IN_WORDS],
    parallel_tool_calls: { 'tool_choice.disable_parallel_tool_use': true },
    'response_format.json_schema.schema.additionalProperties': [
      { 'output_config.format.schema.additionalProperties': false },
      { 'system.1.text': ANY },
    ],
    'response_format.type': [
      { 'output_config.format.type': 'json_schema' },
      { 'system.0.text': ANY },
      { 'system.1.text': ANY },
    ],
    'reasoning.enabled': { 'thinking.type': 'adaptive' },
    'reasoning.max_tokens': { 'output_config.effort': ANY },
    enable_thinking: { 'thinking.type': 'disabled' },
    thinking: { 'thinking.type': 'disabled' },
    reasoning_effort: [{ 'thinking.type': 'disabled' }, { 'output_config.effort': 'low' }],
    service_tier: [{ service_tier: 'standard_only' }, { service_tier: 'auto' }],
    temperature: { temperature: 1 },
  },
  'chat generate': {
    stream: 'is in the address',
    'service_tier=auto': USUAL,
    'messages.content.image_url.detail': { 'generationConfig.mediaResolution': 'MEDIA_RESOLUTION_HIGH' },
    'tools.function.parameters.additionalProperties': {
      'tools.0.functionDeclarations.0.parametersJsonSchema.additionalProperties': false,
    },
    tool_choice: [
      { 'toolConfig.functionCallingConfig.mode': 'ANY' },
      { 'toolConfig.functionCallingConfig.mode': 'AUTO' },
      { 'toolConfig.functionCallingConfig.mode': 'NONE' },
      { 'toolConfig.functionCallingConfig.mode': 'VALIDATED' },
    ],
    function_call: { 'toolConfig.functionCallingConfig.mode': 'ANY' },
    logprobs: { 'generationConfig.responseLogprobs': true },
    'response_format.json_schema.schema.additionalProperties': [
      { 'generationConfig.responseJsonSchema.additionalProperties': false },
      { 'systemInstruction.parts.1.text': ANY },
    ],
    'response_format.type': [
      { 'generationConfig.responseMimeType': 'application/json' },
      { 'systemInstruction.parts.1.text': ANY },
    ],
    reasoning_effort: { 'generationConfig.thinkingConfig.thinkingLevel': ANY },
    reasoning: { 'generationConfig.thinkingConfig': ANY },
    enable_thinking: { 'generationConfig.thinkingConfig': ANY },
    thinking: { 'generationConfig.thinkingConfig': ANY },
    service_tier: { serviceTier: 'priority' },
    modalities: { 'generationConfig.responseModalities': ['TEXT', 'AUDIO'] },
    'messages.content.input_audio.format': { 'contents.0.parts.0.inlineData.mimeType': 'audio/wav' },
  },
  messages: {
    'thinking.display': 'the gateway leaves the reasoning out of the answer',
  },
  'messages chat': {
    stream: { stream: true },
    'messages.content.source.media_type': 'a plain text needs no type',
    'messages.content.is_error': [
      { 'messages.4.content': 'Error: result of the call' },
      { 'messages.3.content': 'Error: result of the call' },
    ],
    'tools.input_schema.additionalProperties': { 'tools.0.function.parameters.additionalProperties': false },
    'tools.strict': { 'tools.0.function.strict': true },
    'tools.name': { web_search_options: ANY },
    'tool_choice.type': [
      { 'tool_choice.type': 'function' },
      { tool_choice: 'required' },
      { tool_choice: 'none' },
      { tool_choice: 'auto' },
    ],
    'tool_choice.disable_parallel_tool_use': { parallel_tool_calls: false },
    'thinking.type': { reasoning_effort: ANY },
    'thinking.budget_tokens': { reasoning_effort: ANY },
    'output_config.format.schema.additionalProperties': [
      { 'response_format.json_schema.schema.additionalProperties': false },
      { 'messages.0.content': ANY },
    ],
    speed: { service_tier: 'priority' },
    service_tier: { service_tier: 'default' },
  },
  'messages generate': {
    stream: 'is in the address',
    'service_tier=auto': USUAL,
    'messages.content.source.media_type': 'a plain text needs no type',
    'messages.content.is_error': { 'contents.2.parts.0.functionResponse.response.error': 'result of the call' },
    'tools.input_schema.additionalProperties': {
      'tools.0.functionDeclarations.0.parametersJsonSchema.additionalProperties': false,
    },
    'tools.name': { 'tools.1.googleSearch': {} },
    'tool_choice.type': [
      { 'toolConfig.functionCallingConfig.mode': 'ANY' },
      { 'toolConfig.functionCallingConfig.mode': 'AUTO' },
      { 'toolConfig.functionCallingConfig.mode': 'NONE' },
    ],
    'thinking.type': { 'generationConfig.thinkingConfig': ANY },
    'thinking.budget_tokens': { 'generationConfig.thinkingConfig.thinkingLevel': ANY },
    'output_config.effort=medium': { 'generationConfig.thinkingConfig.thinkingLevel': 'MEDIUM' },
    'output_config.effort=high': { 'generationConfig.thinkingConfig.thinkingLevel': 'HIGH' },
    'output_config.format.schema.additionalProperties': [
      { 'generationConfig.responseJsonSchema.additionalProperties': false },
      { 'systemInstruction.parts.1.text': ANY },
    ],
    speed: { serviceTier: 'priority' },
    service_tier: { serviceTier: 'standard' },
  },
  generate: {
    'toolConfig.functionCallingConfig.streamFunctionCallArguments': 'arguments always arrive in pieces there',
    'generationConfig.responseModalities': USUAL,
    'generationConfig.thinkingConfig.includeThoughts':
      'reasoning that the model shows is in the answer or left out of it',
  },
  'generate chat': {
    'generationConfig.responseModalities': { modalities: ['image'] },
    'contents.parts.mediaResolution': { 'messages.1.content.1.image_url.detail': 'high' },
    'contents.parts.fileData.mimeType': 'the address tells it',
    'tools.functionDeclarations.parametersJsonSchema.additionalProperties': {
      'tools.0.function.parameters.additionalProperties': false,
    },
    'toolConfig.functionCallingConfig.mode': [
      { 'tool_choice.type': 'function' },
      { tool_choice: 'required' },
      { tool_choice: 'none' },
      { tool_choice: 'auto' },
    ],
    'generationConfig.responseLogprobs': { logprobs: true },
    'generationConfig.responseMimeType': [
      { 'response_format.type': 'json_schema' },
      { 'response_format.type': 'json_object' },
    ],
    'generationConfig.responseJsonSchema.additionalProperties': [
      { 'response_format.json_schema.schema.additionalProperties': false },
      { 'messages.0.content': ANY },
    ],
    'generationConfig.responseSchema': { 'response_format.json_schema.schema': ANY },
    'generationConfig.thinkingConfig': { reasoning_effort: ANY },
    serviceTier: { service_tier: 'default' },
  },
  'generate messages': {
    'contents.parts.fileData.mimeType': 'the address tells it',
    'tools.functionDeclarations.parametersJsonSchema.additionalProperties': {
      'tools.0.input_schema.additionalProperties': false,
    },
    'toolConfig.functionCallingConfig.mode': [
      { 'tool_choice.type': 'tool' },
      { 'tool_choice.type': 'any' },
      { 'tool_choice.type': 'none' },
      { 'tool_choice.type': 'auto' },
    ],
    'generationConfig.responseMimeType': [
      { 'output_config.format.type': 'json_schema' },
      { 'system.0.text': ANY },
      { 'system.1.text': ANY },
    ],
    'generationConfig.responseJsonSchema.additionalProperties': [
      { 'output_config.format.schema.additionalProperties': false },
      { 'system.1.text': ANY },
    ],
    'generationConfig.responseSchema': { 'output_config.format.schema': ANY },
    'generationConfig.thinkingConfig': { 'thinking.type': ANY },
    serviceTier: { service_tier: 'standard_only' },
  },
};

const FUNCTION = { name: 'lookup', parameters: { type: 'object', properties: {} } };
const CHAT_TOOLS = [{ type: 'function', function: FUNCTION }];
const MESSAGES_TOOLS = [{ name: 'lookup', input_schema: { type: 'object', properties: {} } }];
const GENERATE_TOOLS = [{ functionDeclarations: [{ name: 'lookup' }] }];
const SCHEMA = { type: 'object', properties: { reply: { type: 'string' } } };

const NOTED = { type: 'text', text: 'text of a block inside', annotations: ['note'] };
const FOUND = { type: 'search_result', source: 'https://example.com/found', title: 'title of a result' };

/** Fields that exclude others, each in a request of its own. */
export const ALONE: Record<string, Json[]> = {
  chat: [
    { max_tokens: 321 },
    { stop: 'stop-alone' },
    { user: 'identity-alone' },
    { temperature: 1.7 },
    { reasoning: { max_tokens: 4096 } },
    { reasoning: { enabled: true } },
    { reasoning: { effort: 'high', exclude: true } },
    { reasoning_effort: 'none' },
    { reasoning_effort: 'minimal' },
    { enable_thinking: false },
    { thinking: { type: 'disabled' } },
    { include_reasoning: false },
    { service_tier: 'priority' },
    { service_tier: 'scale' },
    { response_format: { type: 'json_object' } },
    { logprobs: true },
    { functions: [FUNCTION] },
    ...['auto', 'none', 'required'].map((choice) => ({ tools: CHAT_TOOLS, tool_choice: choice })),
    {
      tools: CHAT_TOOLS,
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'lookup' } }] },
      },
    },
    {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'text of a part', annotations: ['note'] }], weight: 0.5 },
      ],
    },
    { cache_control: { type: 'ephemeral', ttl: '1h' } },
    { audio: { voice: 'alloy', format: 'wav' } },
    { novel_field: 'value of a novel field' },
  ],
  messages: [
    { max_tokens: 4321, thinking: { type: 'enabled', budget_tokens: 2048 } },
    { thinking: { type: 'disabled' } },
    { thinking: { type: 'between_tools' } },
    { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
    { output_format: { type: 'json_schema', schema: SCHEMA } },
    { service_tier: 'standard_only' },
    { service_tier: 'auto' },
    { speed: 'fast' },
    ...['any', 'auto', 'none'].map((type) => ({ tools: MESSAGES_TOOLS, tool_choice: { type } })),
    { system: [{ type: 'text', text: 'text of the system', novelty: 'novelty of a block' }] },
    { cache_control: { type: 'ephemeral', ttl: '1h' } },
    { thread: { type: 'create' } },
    { max_tokens: 4321, thinking: { type: 'enabled', budget_tokens: 2048, display: 'updates' } },
    {
      tools: [
        ...MESSAGES_TOOLS,
        {
          ...{ type: 'web_search_20260318', name: 'web_search', strict: true, defer_loading: true },
          ...{ response_inclusion: 'full', cache_control: { type: 'ephemeral', ttl: '1h' } },
        },
      ],
    },
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', source: { type: 'content', content: [NOTED] } },
            { ...FOUND, content: [NOTED] },
          ],
        },
      ],
    },
  ],
  generate: [
    { generationConfig: { thinkingConfig: { thinkingBudget: 2048 } } },
    { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH', includeThoughts: true } } },
    { generationConfig: { responseMimeType: 'application/json' } },
    { generationConfig: { responseSchema: { type: 'OBJECT', properties: { reply: { type: 'STRING' } } } } },
    { generationConfig: { responseLogprobs: true } },
    ...['ANY', 'AUTO', 'NONE', 'VALIDATED'].map((mode) => ({
      tools: GENERATE_TOOLS,
      toolConfig: { functionCallingConfig: { mode } },
    })),
    { serviceTier: 'standard' },
    { serviceTier: 'novel-tier' },
    { systemInstruction: { parts: [{ text: 'text of the system', speechMetadata: { speaker: 'speaker-one' } }] } },
    {
      contents: [
        { role: 'user', parts: [{ text: 'Look' }] },
        { role: 'model', parts: [{ functionCall: { name: 'lookup', args: {} } }] },
        {
          role: 'user',
          parts: [
            {
              functionResponse: {
                name: 'lookup',
                response: { output: 'found' },
                parts: [{ mediaProcessing: 'AGENTIC' }],
              },
            },
          ],
        },
      ],
    },
  ],
};

const AUDIO = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };
const SYSTEM_IMAGE = {
  systemInstruction: { parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] },
};
const VIDEO = { inlineData: { mimeType: 'video/mp4', data: 'AAAAIGZ0eXA=' } };

/** Fields that change the kind of the answer: by pair and by the name that the error gives. */
export const REFUSED: Record<string, Record<string, Json>> = {
  ...REFUSED_BY_RESPONSES,
  ...REFUSED_BY_CONVERSE,
  'chat messages': {
    n: { n: 2 },
    modalities: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
    messages: { messages: [{ role: 'user', content: [AUDIO] }] },
    guided_json: { guided_json: SCHEMA },
    'tools[0].type': { tools: [{ type: 'mcp', server_label: 'label' }] },
  },
  'chat generate': {
    guided_json: { guided_json: SCHEMA },
    'tools[0].type': { tools: [{ type: 'mcp', server_label: 'label' }] },
    messages: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] },
  },
  'messages chat': {
    container: { container: 'container-1' },
    mcp_servers: { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'server' }] },
    tools: { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    stop_sequences: { stop_sequences: ['a', 'b', 'c', 'd', 'e'] },
  },
  'messages generate': {
    container: { container: 'container-1' },
    mcp_servers: { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'server' }] },
    tools: { tools: [{ type: 'bash_20250124', name: 'bash' }] },
    stop_sequences: { stop_sequences: ['a', 'b', 'c', 'd', 'e', 'f'] },
  },
  'generate chat': {
    systemInstruction: SYSTEM_IMAGE,
    cachedContent: { cachedContent: 'cachedContents/1' },
    'generationConfig.responseFormat': { generationConfig: { responseFormat: [{ text: { mimeType: 'text/plain' } }] } },
    continuationToken: { continuationToken: 'token' },
    'tools[0].codeExecution': { tools: [{ codeExecution: {} }] },
    'generationConfig.responseModalities': { generationConfig: { responseModalities: ['VIDEO'] } },
    'generationConfig.responseMimeType': { generationConfig: { responseMimeType: 'text/x.enum' } },
  },
  'generate messages': {
    systemInstruction: SYSTEM_IMAGE,
    cachedContent: { cachedContent: 'cachedContents/1' },
    'generationConfig.responseFormat': { generationConfig: { responseFormat: [{ text: { mimeType: 'text/plain' } }] } },
    'tools[0].codeExecution': { tools: [{ codeExecution: {} }] },
    'generationConfig.responseModalities': { generationConfig: { responseModalities: ['IMAGE'] } },
    'generationConfig.candidateCount': { generationConfig: { candidateCount: 2 } },
    contents: { contents: [{ role: 'user', parts: [VIDEO] }] },
  },
};
