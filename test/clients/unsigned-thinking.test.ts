/** Thinking without a signature, of a model that signs nothing, through the official SDKs: it comes back, and no provider gets what it would refuse. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { problemsOfConverse } from '../corpus/validators/converse.ts';
import {
  answerJson,
  KEY,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { anthropicClients } from './anthropic.ts';
import { openaiClients } from './openai.ts';
import { ARGS, startProvider, TEXT, THOUGHT } from './upstreams.ts';

const STEPS = [
  { thought: THOUGHT, signature: '', calls: [{ id: 'call_1', name: 'weather', args: ARGS }] },
  { text: TEXT },
];
const PLACEHOLDER = /"signature":""|eyJwb2x5Z2F0ZSI6/;

const providers: Record<string, TestUpstream> = {};
let gateway: TestGateway;

before(async () => {
  for (const protocol of ['chat', 'messages', 'generate', 'responses'] as const)
    providers[protocol] = await startProvider(protocol, STEPS);
  providers.bedrock = await startUpstream(({ body }, response) => {
    const problems = problemsOfConverse(body);
    if (problems.length > 0) return answerJson(response, { message: problems.join('; ') }, 400);
    const usage = { inputTokens: 4, outputTokens: 5, totalTokens: 9 };
    const message = { role: 'assistant', content: [{ text: TEXT }] };
    answerJson(response, { output: { message }, stopReason: 'end_turn', usage, metrics: { latencyMs: 1 } });
  });
  const url = (name: string) => providers[name]?.url;
  gateway = await startTestGateway(`
providers:
  chat: { type: openai-compatible, base_url: "${url('chat')}/v1", api_key: k, models: [{ id: m, rules: { reasoning_history: required } }] }
  messages: { type: anthropic, base_url: "${url('messages')}", api_key: k, models: [{ id: m }] }
  generate: { type: google, base_url: "${url('generate')}/v1beta", api_key: k, models: [{ id: m }] }
  responses: { type: open-responses, base_url: "${url('responses')}/v1", api_key: k, models: [{ id: m }] }
  bedrock: { base_url: "${url('bedrock')}", api_key: k, models: [{ id: us.amazon.nova-2-lite-v1:0 }] }
`);
});

after(async () => {
  await gateway.close();
  for (const provider of Object.values(providers)) await provider.close();
});

const connection = () => ({ url: gateway.url, key: KEY });
const MODELS = ['chat/m', 'messages/m', 'generate/m', 'responses/m', 'bedrock/us.amazon.nova-2-lite-v1:0'];

/** What the provider of the model got last; its protocol's thinking comes back to the model that thought alone. */
function checkSent(model: string): void {
  const { body, bytes } = providers[model.split('/')[0] ?? '']?.calls.at(-1) ?? assert.fail('nothing was asked');
  assert.doesNotMatch(bytes.toString(), PLACEHOLDER);
  if (model === 'chat/m') assert.equal(body.messages[1].reasoning_content, THOUGHT);
}

for (const [name, connect] of Object.entries(anthropicClients(connection))) {
  describe(name, () => {
    const tools = [{ name: 'weather', input_schema: { type: 'object' as const } }];
    const asked: Anthropic.MessageParam = { role: 'user', content: 'Weather?' };
    const results: Anthropic.MessageParam = {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'sunny' }],
    };

    for (const model of MODELS) {
      test(`a stream of thinking goes back to ${model}`, async () => {
        const params = { max_tokens: 1000, tools };
        const first = connect().messages.stream({ ...params, model: 'chat/m', messages: [asked] });
        const { content } = await first.finalMessage();
        assert.deepEqual(content[0], { type: 'thinking', thinking: THOUGHT, signature: '' });
        const messages = [asked, { role: 'assistant' as const, content }, results];
        const answer = await connect().messages.create({ ...params, model, messages });
        const last = answer.content.at(-1);
        assert.equal(last?.type === 'text' && last.text, TEXT);
        checkSent(model);
      });
    }
  });
}

for (const [name, connect] of Object.entries(openaiClients(connection))) {
  describe(`${name}, Responses`, () => {
    const tools = [{ type: 'function' as const, name: 'weather', parameters: { type: 'object' }, strict: false }];
    const asked: OpenAI.Responses.ResponseInputItem = { role: 'user', content: 'Weather?' };
    const result = { type: 'function_call_output' as const, call_id: 'call_1', output: 'sunny' };
    const include = ['reasoning.encrypted_content' as const];

    for (const model of MODELS) {
      for (const isStored of [false, true]) {
        test(`a stream of reasoning goes back to ${model}${isStored ? ' by its id' : ''}`, async () => {
          const params = { tools, include, store: isStored };
          const first = connect().responses.stream({ ...params, model: 'chat/m', input: [asked] });
          const { id, output } = await first.finalResponse();
          assert(output[0]?.type === 'reasoning' && output[0].encrypted_content);
          const items = JSON.parse(
            JSON.stringify(output, (key, value) => (key === 'parsed_arguments' ? undefined : value)),
          );
          const next = isStored ? { previous_response_id: id, input: [result] } : { input: [asked, ...items, result] };
          const answer = await connect().responses.create({ ...params, ...next, model });
          assert.equal(answer.output_text, TEXT);
          checkSent(model);
        });
      }
    }
  });
}
