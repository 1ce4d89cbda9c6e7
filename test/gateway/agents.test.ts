/** Requests as coding agents send them, in a tool loop of three turns, to upstreams of every protocol. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { SPEAKERS } from '../conformance/answers.ts';
import { IDS, MODELS, protocolOf, type Rig, send, useRig } from '../conformance/rig.ts';
import { problemsOfChat } from '../corpus/validators/chat.ts';
import { problemsOfGenerate } from '../corpus/validators/generate.ts';
import { problemsOfMessages } from '../corpus/validators/messages.ts';
import { answerEvents, type ProtocolId, type UpstreamCall } from './harness.ts';

const rig = useRig();

const PROBLEMS = { chat: problemsOfChat, messages: problemsOfMessages, generate: problemsOfGenerate };

/** What the agent asks the upstream for, turn by turn: a step, two steps at once, the end. */
const STEPS: Json[][] = [
  [{ id: 'toolu_a', name: 'Read', args: { file_path: '/tmp/a.ts', limit: 10 } }],
  [
    { id: 'toolu_b', name: 'Read', args: { file_path: '/tmp/b.ts' } },
    { id: 'toolu_c', name: 'Bash', args: { command: 'ls "a b"' } },
  ],
];
const IDS_OF_STEPS = ['toolu_a', 'toolu_b', 'toolu_c'];
const STATES = ['c3RhdGUtMQ==', 'c3RhdGUtMg=='];

/** Turn by turn, as the upstream's calls count them. */
function answerSteps({ upstream }: Rig): void {
  rig.answer((call, response) => {
    const turn = upstream.calls.length - 1;
    const calls = STEPS[turn];
    const said = calls
      ? { reasoning: `thought ${turn}`, signature: STATES[turn], text: `step ${turn}`, calls }
      : { text: 'Done.' };
    answerEvents(response, SPEAKERS[protocolOf(call.path)].stream(said as never));
  });
}

function frames(text: string): Json[] {
  return text
    .split(/\r?\n\r?\n/)
    .filter((block) => block.includes('data: {'))
    .map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 6)));
}

interface Agent {
  protocol: ProtocolId;
  headers: Record<string, string>;
  body(model: string): Json;
  /** The turn that a stream was, added to the history together with its results; false when it made no calls. */
  goOn(body: Json, events: Json[]): boolean;
}

/** What every header of a pair says, in the order in which it is said. */
type Dropped = Partial<Record<ProtocolId, string>>;

/** Three turns; what the upstream was asked in each. */
async function loop(agent: Agent, upstream: ProtocolId, dropped: Dropped): Promise<UpstreamCall[]> {
  answerSteps(rig);
  const body = agent.body(MODELS[upstream]);
  for (let turn = 0; turn < 3; turn++) {
    const { protocol, headers } = agent;
    const path = protocol === 'messages' ? '/anthropic/v1/messages?beta=true' : undefined;
    const got = await send(rig, { protocol, model: MODELS[upstream], change: body, stream: true, headers, path });
    assert.equal(got.status, 200, got.text);
    assert.equal(got.headers.get('x-polygate-dropped'), dropped[upstream] ?? null);
    assert.equal(agent.goOn(body, frames(got.text)), turn < 2, got.text);
  }
  for (const call of rig.upstream.calls) {
    if (agent.protocol !== upstream) assert.deepEqual(PROBLEMS[upstream](call.body), []);
  }
  return rig.upstream.calls;
}

/** Ids of calls, and of results, as a history of each protocol has them; results with their words. */
const HISTORY: Record<ProtocolId, (body: Json) => { calls: string[]; results: string[]; states: string[] }> = {
  chat: ({ messages }) => ({
    calls: messages.flatMap((message: Json) => (message.tool_calls ?? []).map((call: Json) => call.id)),
    results: messages.flatMap((message: Json) =>
      message.role === 'tool' ? [`${message.tool_call_id}: ${message.content}`] : [],
    ),
    states: [],
  }),
  messages: ({ messages }) => {
    const blocks: Json[] = messages.flatMap((message: Json) => (Array.isArray(message.content) ? message.content : []));
    return {
      calls: blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id),
      results: blocks
        .filter(({ type }) => type === 'tool_result')
        .map(({ tool_use_id, content }) => `${tool_use_id}: ${content?.[0]?.text ?? content}`),
      states: blocks.filter(({ type }) => type === 'thinking').map(({ signature }) => signature),
    };
  },
  generate: ({ contents }) => {
    const parts: Json[] = contents.flatMap((content: Json) => content.parts);
    return {
      calls: parts.filter(({ functionCall }) => functionCall).map(({ functionCall }) => functionCall.id),
      results: parts
        .filter(({ functionResponse }) => functionResponse)
        .map(({ functionResponse }) => `${functionResponse.id}: ${functionResponse.response.output}`),
      states: parts.filter(({ thoughtSignature }) => thoughtSignature).map((part) => part.thoughtSignature),
    };
  },
};

function checkHistory(upstream: ProtocolId, last: UpstreamCall | undefined): void {
  const { calls, results, states } = HISTORY[upstream](last?.body);
  assert.deepEqual(calls, IDS_OF_STEPS);
  assert.deepEqual(
    results,
    IDS_OF_STEPS.map((id) => `${id}: result of ${id}`),
  );
  assert.deepEqual(states, upstream === 'chat' ? [] : STATES);
}

const BETAS = [
  'claude-code-20250219',
  'interleaved-thinking-2025-05-14',
  'context-management-2025-06-27',
  'mid-conversation-tool-changes-2026-07-01',
  'thinking-token-count-2026-05-13',
  'advanced-tool-use-2025-11-20',
  'effort-2025-11-24',
].join(',');

const USER_ID = JSON.stringify({ device_id: 'd', account_uuid: '', session_id: 's' });

const claudeCode: Agent = {
  protocol: 'messages',
  headers: {
    'anthropic-beta': BETAS,
    'anthropic-version': '2023-06-01',
    'user-agent': 'claude-cli/2.1.329 (external, sdk-cli)',
    'x-app': 'cli',
    'x-claude-code-session-id': 's',
  },
  body: (model) => ({
    model,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system-reminder>context</system-reminder>' },
          { type: 'text', text: 'Fix the bug.', cache_control: { type: 'ephemeral' } },
        ],
      },
      { role: 'system', content: 'The date has changed.' },
    ],
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.329.abc; cc_entrypoint=sdk-cli;' },
      { type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Use the tools.', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ],
    tools: [READ, BASH, { name: 'DeferredToolPlaceholder', description: 'Never called.', defer_loading: true }],
    metadata: { user_id: USER_ID },
    max_tokens: 32_000,
    thinking: { type: 'adaptive', display: 'omitted' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    output_config: { effort: 'medium' },
    stream: true,
  }),
  goOn(body, events) {
    const content: Json[] = [];
    for (const event of events) {
      if (event.type === 'content_block_start') content[event.index] = { ...event.content_block };
      if (event.type === 'content_block_delta') growBlock(content[event.index], event.delta);
    }
    for (const block of content) if (typeof block.input === 'string') block.input = JSON.parse(block.input);
    const calls = content.filter(({ type }) => type === 'tool_use');
    const results = calls.map(({ id }) => ({ tool_use_id: id, type: 'tool_result', content: `result of ${id}` }));
    body.messages.push({ role: 'assistant', content });
    if (results.length > 0) body.messages.push({ role: 'user', content: results });
    return results.length > 0;
  },
};

function growBlock(block: Json, delta: Json): void {
  if (delta.type === 'text_delta') block.text += delta.text;
  if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
  if (delta.type === 'signature_delta') block.signature = delta.signature;
  if (delta.type === 'input_json_delta') {
    block.input = (typeof block.input === 'string' ? block.input : '') + delta.partial_json;
  }
}

const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

const READ = {
  name: 'Read',
  description: 'Reads a file.',
  input_schema: {
    $schema: DRAFT,
    type: 'object',
    properties: {
      file_path: { type: 'string', minLength: 1, pattern: '^/', description: 'An absolute path.' },
      limit: { type: 'integer', exclusiveMinimum: 0, default: 2000 },
      url: { type: 'string', format: 'uri' },
      mode: { allOf: [{ type: 'string' }, { enum: ['text', 'image'] }] },
    },
    required: ['file_path'],
    additionalProperties: false,
  },
};

const BASH = {
  name: 'Bash',
  description: 'Runs a command.',
  input_schema: {
    $schema: DRAFT,
    type: 'object',
    properties: { command: { type: 'string' }, env: { type: 'object', propertyNames: { type: 'string' } } },
    required: ['command'],
    additionalProperties: false,
  },
  cache_control: { type: 'ephemeral' },
};

const geminiCli: Agent = {
  protocol: 'generate',
  headers: {
    'user-agent': 'GeminiCLI/0.61.0/m (linux; x64)',
    'x-goog-api-client': 'google-genai-sdk/1.30.0 gl-node/v22',
  },
  body: () => ({
    contents: [
      { role: 'user', parts: [{ text: 'This is the context.' }] },
      { role: 'user', parts: [{ text: 'Fix the bug.' }] },
    ],
    systemInstruction: { role: 'user', parts: [{ text: 'You are an agent.' }] },
    tools: [
      {
        functionDeclarations: [READ, BASH].map(({ name, description, input_schema }) => ({
          name,
          description,
          parametersJsonSchema: input_schema,
        })),
      },
    ],
    generationConfig: {
      temperature: 1,
      topP: 0.95,
      topK: 64,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 },
    },
  }),
  goOn(body, events) {
    const parts: Json[] = events.flatMap((event) => event.candidates?.[0]?.content?.parts ?? []);
    const calls = parts.filter(({ functionCall }) => functionCall).map(({ functionCall }) => functionCall);
    body.contents.push({
      role: 'model',
      parts: parts.filter(({ text, thoughtSignature }) => text !== '' || thoughtSignature),
    });
    const results = calls.map(({ id, name }) => ({
      functionResponse: { id, name, response: { output: `result of ${id}` } },
    }));
    if (results.length > 0) body.contents.push({ role: 'user', parts: results });
    return results.length > 0;
  },
};

describe('Claude Code', () => {
  const dropped: Dropped = {
    chat: 'tools.DeferredToolPlaceholder, context_management, cache_control',
    generate: 'tools.DeferredToolPlaceholder, context_management, tools.input_schema, metadata.user_id, cache_control',
  };
  for (const upstream of IDS) {
    test(`a loop of three turns with an upstream of ${upstream}`, async () => {
      const calls = await loop(claudeCode, upstream, dropped);
      checkHistory(upstream, calls[2]);
      for (const { headers } of calls) {
        const forwarded = [headers['anthropic-beta'], headers['anthropic-version']];
        assert.deepEqual(forwarded, upstream === 'messages' ? [BETAS, '2023-06-01'] : [undefined, undefined]);
        assert.equal(headers['x-claude-code-session-id'], undefined);
      }
      const sent = JSON.stringify(calls[0]?.body);
      assert.ok(sent.includes('The date has changed.') && sent.includes('Use the tools.'));
      if (upstream !== 'messages') {
        assert.ok(!sent.includes('x-anthropic-billing-header') && !sent.includes('DeferredToolPlaceholder'));
      }
    });
  }
});

describe('Gemini CLI', () => {
  const dropped: Dropped = {
    chat: 'generationConfig.topK',
    messages: 'generationConfig.temperature, generationConfig.topP, generationConfig.topK',
  };
  for (const upstream of IDS) {
    test(`a loop of three turns with an upstream of ${upstream}`, async () => {
      const calls = await loop(geminiCli, upstream, dropped);
      checkHistory(upstream, calls[2]);
    });
  }
});
