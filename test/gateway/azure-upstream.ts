/**
 * A resource of Azure OpenAI and Microsoft Foundry: refuses addresses, headers and deployments as the real one does, and answers
 * with its annotations of content filters. What it writes follows the vendor's documentation.
 */

import type { Json } from '../../src/core/json/json.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
  startUpstream,
  type TestUpstream,
  type UpstreamCall,
} from './harness.ts';

export const API_KEY = '0123456789abcdef0123456789abcdef';
export const TOKEN = 'eyJ0eXAi.test-token.of-nobody';
export const OLDER_VERSION = '2025-04-01-preview';

/** Deployments by their names, with the API that serves them. */
const DEPLOYMENTS: Readonly<Record<string, 'openai' | 'anthropic'>> = {
  'prod-gpt': 'openai',
  'gpt-4o': 'openai',
  'team deepseek': 'openai',
  vectors: 'openai',
  claude: 'anthropic',
  'claude-sonnet-4-5': 'anthropic',
};
const CREDENTIAL_HEADERS = ['api-key', 'authorization', 'x-api-key'] as const;

const SAFE = { filtered: false, severity: 'safe' };
export const PROMPT_FILTER = [
  { prompt_index: 0, content_filter_results: { hate: SAFE, jailbreak: { detected: false, filtered: false } } },
];

export const CHAT: Json = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-5.4-2026-03-05' },
  choices: [
    {
      ...{ index: 0, finish_reason: 'stop', logprobs: null, content_filter_results: { hate: SAFE } },
      message: { role: 'assistant', content: 'Hello.', refusal: null, annotations: [] },
    },
  ],
  prompt_filter_results: PROMPT_FILTER,
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const chunk = (choices: Json[], more: Json = {}) => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5.4-2026-03-05', choices },
  ...more,
});
export const CHUNKS: Json[] = [
  { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: PROMPT_FILTER },
  chunk([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null, content_filter_results: {} }]),
  chunk([{ index: 0, delta: { content: 'Hello.' }, finish_reason: null, content_filter_results: { hate: SAFE } }]),
  chunk([{ index: 0, delta: {}, finish_reason: 'stop', content_filter_results: {} }]),
  chunk([], { usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } }),
];
export const CLAUDE: Json = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5-20250929' },
  ...{ stop_reason: 'end_turn', stop_sequence: null },
  content: [{ type: 'text', text: 'Hello.' }],
  usage: { input_tokens: 3, output_tokens: 2 },
};
const CLAUDE_EVENTS: Json[] = [
  { type: 'message_start', message: { ...CLAUDE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];
const RESPONSE: Json = {
  ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'gpt-5.4-2026-03-05', error: null },
  ...{ incomplete_details: null, parallel_tool_calls: true, tool_choice: 'auto', tools: [], metadata: {} },
  content_filters: [{ blocked: false, source_type: 'prompt', content_filter_results: { hate: SAFE } }],
  output: [
    {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
      content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
    },
  ],
  usage: {
    ...{ input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    ...{ input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } },
  },
};
const VECTORS: Json = {
  ...{ object: 'list', model: 'text-embedding-3-small', usage: { prompt_tokens: 3, total_tokens: 3 } },
  data: [{ object: 'embedding', index: 0, embedding: [0.6, 0.8] }],
};

interface Refusal {
  status: number;
  body: Json;
}

const refusal = (status: number, code: string, message: string): Refusal => ({
  status,
  body: { error: { code, message } },
});
const NOT_FOUND = refusal(404, '404', 'Resource not found');

/** Starts a resource that answers each well-formed request; `answer` may answer in its place, and then returns true. */
export function startAzure(answer: (...call: Parameters<Answerer>) => boolean = () => false): Promise<TestUpstream> {
  return startUpstream((call, response) => {
    const refused = refusalOf(call);
    if (refused) answerJson(response, refused.body, refused.status, { 'apim-request-id': 'r-1' });
    else if (!answer(call, response)) answerWell(call, response);
  });
}

/** As the resource refuses a request; undefined for a good one. */
function refusalOf({ path, headers, body }: UpstreamCall): Refusal | undefined {
  const { pathname, searchParams } = new URL(path, 'http://resource');
  const [, api, second = '', third = '', ...rest] = pathname.split('/');
  const isClaude = api === 'anthropic';
  const given = CREDENTIAL_HEADERS.filter((name) => headers[name] !== undefined);
  if (given.length !== 1)
    return { status: 401, body: { statusCode: 401, message: `Credentials: ${given.join(', ')}` } };
  const isKey = headers[isClaude ? 'x-api-key' : 'api-key'] === API_KEY;
  if (!isKey && headers.authorization !== `Bearer ${TOKEN}`)
    return refusal(401, '401', 'Access denied due to invalid subscription key or wrong API endpoint.');
  const version = searchParams.get('api-version');
  if (isClaude) {
    if (headers['anthropic-version'] === undefined)
      return refusal(400, 'invalid_request', 'anthropic-version is missing');
    if (second !== 'v1' || version !== null) return NOT_FOUND;
    return existing(body.model, 'anthropic');
  }
  if (api !== 'openai') return NOT_FOUND;
  if (second === 'v1') return version === null ? existing(body.model, 'openai') : NOT_FOUND;
  if (version !== OLDER_VERSION) return NOT_FOUND;
  if (second === 'responses') return existing(body.model, 'openai');
  if (second !== 'deployments' || !['chat/completions', 'embeddings'].includes(rest.join('/'))) return NOT_FOUND;
  return existing(decodeURIComponent(third), 'openai');
}

function existing(name: string, api: 'openai' | 'anthropic'): Refusal | undefined {
  if (DEPLOYMENTS[name] === api) return undefined;
  return refusal(404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.');
}

function answerWell({ path, body }: UpstreamCall, response: Parameters<Answerer>[1]): void {
  const { pathname } = new URL(path, 'http://resource');
  if (pathname.endsWith('/count_tokens')) answerJson(response, { input_tokens: 7 });
  else if (pathname.endsWith('/messages') && body.stream)
    answerEvents(
      response,
      CLAUDE_EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
    );
  else if (pathname.endsWith('/messages')) answerJson(response, CLAUDE);
  else if (pathname.endsWith('/embeddings')) answerJson(response, VECTORS);
  else if (pathname.endsWith('/responses')) answerJson(response, RESPONSE);
  else if (body.stream) answerEvents(response, eventsOf(CHUNKS));
  else answerJson(response, CHAT);
}

/** A stream of chat completions. */
export function eventsOf(chunks: readonly Json[]): string {
  return `${chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`;
}
