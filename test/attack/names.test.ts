/** Bodies that readers of JSON read differently: what the gateway checks must be what every upstream sees. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { readBody } from '../../src/core/json/body.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import {
  answerJson,
  KEY,
  PATHS,
  type ProtocolId,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from '../gateway/harness.ts';
import { headersWith } from '../gateway/usage-client.ts';
import { answersOf } from './answers.ts';
import { attack } from './attack.ts';

const BOUND_KEY = 'sk-test-bound-to-cheap-0123456789';
const IDS: ProtocolId[] = ['chat', 'messages', 'generate'];

const ANSWERS = answersOf('cheap', 1);
const TYPES = { chat: 'openai-compatible', messages: 'anthropic', generate: 'google' };

const upstreams: Partial<Record<ProtocolId, TestUpstream>> = {};
let gateway: TestGateway;

before(async () => {
  for (const id of IDS) {
    upstreams[id] = await startUpstream((_call, response) => answerJson(response, ANSWERS[id]));
  }
  const providers = IDS.map((id) => {
    const version = id === 'chat' ? '/v1' : '';
    return `  ${id}: { type: ${TYPES[id]}, api_key: k, base_url: "${upstreams[id]?.url}${version}", models: [{ id: cheap }, { id: dear }] }`;
  });
  gateway = await startTestGateway(`providers:\n${providers.join('\n')}`, {
    keys: [`{ name: bound, key: ${BOUND_KEY}, models: ["*/cheap", "sandbox/*"] }`],
  });
});

after(async () => {
  await gateway.close();
  for (const upstream of Object.values(upstreams)) await upstream.close();
});

function callsOf(): number {
  return Object.values(upstreams).reduce((sum, { calls }) => sum + calls.length, 0);
}

/** The members of a plain question in a protocol, without their braces. */
function members(protocol: ProtocolId): string {
  switch (protocol) {
    case 'chat':
      return '"messages":[{"role":"user","content":"Hi"}]';
    case 'messages':
      return '"max_tokens":10,"messages":[{"role":"user","content":"Hi"}]';
    case 'generate':
      return '"contents":[{"role":"user","parts":[{"text":"Hi"}]}]';
  }
}

function send(protocol: ProtocolId, text: string | Buffer): Promise<Response> {
  const path = PATHS[protocol](`${protocol}/cheap`, false);
  return post(gateway.url + path, text, headersWith(protocol, BOUND_KEY));
}

interface Crafted {
  protocol: ProtocolId;
  /** Members beside those of a plain question. */
  more: string;
  /** What the error must name. */
  names: string;
  /** Members instead of those of a plain question. */
  question?: string;
}

const chat = (more: string, names: string): Crafted => ({
  protocol: 'chat',
  more: `"model":"chat/cheap",${more}`,
  names,
});
const messages = (more: string, names: string): Crafted => ({
  protocol: 'messages',
  more: `"model":"messages/cheap",${more}`,
  names,
});
const generate = (more: string, names: string): Crafted => ({ protocol: 'generate', more, names });

const REPEATED: Crafted[] = [
  { protocol: 'chat', more: '"model":"dear","model":"chat/cheap"', names: 'model' },
  { protocol: 'chat', more: '"model":"dear","\\u006dodel":"chat/cheap"', names: 'model' },
  { protocol: 'chat', more: '"mode\\u006C":"dear","model":"chat/cheap"', names: 'model' },
  { protocol: 'messages', more: '"model":"dear","model":"messages/cheap"', names: 'model' },
  chat('"max_tokens":100000,"max_tokens":1', 'max_tokens'),
  chat('"n":100,"n":1', 'n'),
  chat('"stream_options":{"include_usage":false,"include_usage":true}', 'stream_options.include_usage'),
  chat('"reasoning":{"max_tokens":100000,"max_tokens":1}', 'reasoning.max_tokens'),
  chat('"provider":{"options":{"chat":{"n":9,"n":1}}}', 'provider.options.chat.n'),
  chat('"provider":{"only":["dear"],"only":["chat"]}', 'provider.only'),
  chat('"provider":{},"provider":{}', 'provider'),
  messages('"thinking":{"type":"enabled","budget_tokens":90000,"budget_tokens":1024}', 'thinking.budget_tokens'),
  messages('"max_tokens":100000', 'max_tokens'),
  generate('"generationConfig":{"maxOutputTokens":90000},"generationConfig":{}', 'generationConfig'),
  generate('"generationConfig":{"maxOutputTokens":90000},"generation_config":{}', 'generation_config'),
  generate('"generationConfig":{"maxOutputTokens":90000,"maxOutputTokens":1}', 'generationConfig.maxOutputTokens'),
  generate(
    '"generationConfig":{"thinkingConfig":{"thinkingBudget":9,"thinking_budget":1}}',
    'generationConfig.thinkingConfig.thinking_budget',
  ),
];

const OTHER_CASES: Crafted[] = [
  chat('"MODEL":"dear"', 'MODEL'),
  chat('"Max_Tokens":100000', 'Max_Tokens'),
  chat('"max_to\u212aens":100000', 'max_to\u212aens'),
  chat('"max_token\\u017f":100000', 'max_token\u017f'),
  chat('"maxTokens":100000', 'maxTokens'),
  chat('"N":100', 'N'),
  chat('"BEST_OF":100', 'BEST_OF'),
  chat('"Stream_Options":{"include_usage":false}', 'Stream_Options'),
  chat('"stream_options":{"Include_Usage":false}', 'stream_options.Include_Usage'),
  chat('"provider":{"options":{"chat":{"Max_Tokens":100000}}}', 'provider.options.chat.Max_Tokens'),
  chat('"provider":{"options":{"chat":{"MODEL":"dear"}}}', 'provider.options.chat.MODEL'),
  messages('"Model":"dear"', 'Model'),
  messages('"MAX_TOKENS":100000', 'MAX_TOKENS'),
  messages('"Thinking":{"type":"enabled","budget_tokens":90000}', 'Thinking'),
  generate('"GenerationConfig":{"maxOutputTokens":90000}', 'GenerationConfig'),
  generate('"generationConfig":{"MaxOutputTokens":90000}', 'generationConfig.MaxOutputTokens'),
  generate('"generationConfig":{"candidatecount":8}', 'generationConfig.candidatecount'),
];

async function refusedAll(crafted: readonly Crafted[]): Promise<string> {
  const before = callsOf();
  for (const { protocol, more, names } of crafted) {
    for (const text of [`{${more},${members(protocol)}}`, `{${members(protocol)},${more}}`]) {
      const response = await send(protocol, text);
      const said = await response.text();
      assert.equal(response.status, 400, `${text}: ${said}`);
      assert.ok(JSON.parse(said).error.message.includes(names), `${text}: ${said}`);
    }
  }
  assert.equal(callsOf(), before);
  return `400 for ${crafted.length * 2} of ${crafted.length * 2}`;
}

attack(
  'names',
  {
    by: 'key holder',
    attempt: 'a member that steers models or money stands twice, escaped or not, in each protocol',
    bound: '400 naming it, nothing is sent',
  },
  () => refusedAll(REPEATED),
);

attack(
  'names',
  {
    by: 'key holder',
    attempt:
      'a member differs from one that steers models or money only in case, as Unicode folds it, or in underscores',
    bound: '400 naming it, nothing is sent',
  },
  () => refusedAll(OTHER_CASES),
);

/** Members beside `model`, by which routers choose another one, and what must be named. */
const MODEL_MEMBERS: Crafted[] = [
  chat('"fallbacks":["dear"]', 'fallbacks'),
  chat('"Fallbacks":["dear"]', 'Fallbacks'),
  chat('"model_list":[{"model_name":"cheap","litellm_params":{"model":"dear"}}]', 'model_list'),
  chat('"preset":"dear"', 'preset'),
  chat('"context_window_fallbacks":[{"cheap":["dear"]}]', 'context_window_fallbacks'),
  chat('"user_config":{"model_list":[]}', 'user_config'),
  chat('"extra_body":{"model":"dear"}', 'extra_body'),
  chat('"providerOptions":{"gateway":{"models":["dear"]}}', 'providerOptions'),
  chat('"compound_custom":{"models":{"answering_model":"dear"}}', 'compound_custom'),
  chat('"plugins":[{"id":"fusion","analysis_models":["dear"]}]', 'plugins.analysis_models'),
  chat('"tools":[{"type":"openrouter:advisor","parameters":{"model":"dear"}}]', 'tools.parameters.model'),
  chat('"provider":{"options":{"chat":{"fallbacks":["dear"]}}}', 'provider.options.chat.fallbacks'),
  chat('"provider":{"options":{"chat":{"route":"fallback"}}}', 'provider.options.chat.route'),
  chat('"provider":{"options":{"openai-compatible":{"preset":"dear"}}}', 'provider.options.chat.preset'),
  messages('"fallbacks":["dear"]', 'fallbacks'),
  messages('"route":"fallback"', 'route'),
  messages('"preset":"dear"', 'preset'),
  messages('"tools":[{"type":"advisor_20260301","name":"advisor","model":"dear"}]', 'tools.model'),
  ...['tool_addition', 'compaction'].map((type) => {
    const adviser = '"definition":{"type":"advisor_20260301","name":"advisor","model":"dear"}';
    const change = `{"type":"tool_addition","tool":{"type":"tool_definition",${adviser}}}`;
    const block = type === 'compaction' ? `{"type":"compaction","content":"","tool_changes":[${change}]}` : change;
    const question = `"max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"system","content":[${block}]}]`;
    return { ...messages('"stream":false', 'messages[1].content.tool.definition.model'), question };
  }),
  generate('"fallbacks":["dear"]', 'fallbacks'),
  generate('"models":["dear"]', 'models'),
  generate('"model_list":[]', 'model_list'),
];

attack(
  'names',
  {
    by: 'key holder',
    attempt:
      'a key that is bound to models names others in members of routers upstream, in each protocol and in provider.options',
    bound: '403 naming the member, nothing is sent; the same passes with a key that may use all models',
  },
  async () => {
    const before = callsOf();
    for (const { protocol, more, names, question = members(protocol) } of MODEL_MEMBERS) {
      const text = `{${more},${question}}`;
      const response = await send(protocol, text);
      const said = await response.text();
      assert.equal(response.status, 403, `${text}: ${said}`);
      assert.ok(JSON.parse(said).error.message.includes(names), `${text}: ${said}`);
    }
    assert.equal(callsOf(), before);
    const free = `{"model":"chat/cheap","fallbacks":["dear"],${members('chat')}}`;
    const response = await post(gateway.url + PATHS.chat(), free, headersWith('chat', KEY));
    assert.equal(response.status, 200);
    assert.deepEqual(upstreams.chat?.calls.at(-1)?.body.fallbacks, ['dear']);
    return `403 for ${MODEL_MEMBERS.length} of ${MODEL_MEMBERS.length}`;
  },
);

attack(
  'names',
  {
    by: 'key holder',
    attempt: 'the body of a generateContent request names another model than its address',
    bound: 'the upstream reads the model of the address in both',
  },
  async () => {
    for (const model of ['models/dear', 'dear', null]) {
      const response = await send('generate', `{"model":${JSON.stringify(model)},${members('generate')}}`);
      assert.equal(response.status, 200);
      const call = upstreams.generate?.calls.at(-1);
      assert.match(call?.path ?? '', /models\/cheap:/);
      assert.equal(call?.body.model, 'models/cheap');
    }
    return 'held';
  },
);

const VIDEO = '"model":"sandbox/video","prompt":"A boat"';

attack(
  'names',
  {
    by: 'key holder',
    attempt: 'a request for a video, as JSON and as a form, with a member twice or in another case',
    bound: '400 naming it',
  },
  async () => {
    const url = `${gateway.url}/v1/videos`;
    const headers = headersWith('chat', BOUND_KEY);
    const texts: [string, string][] = [
      [`{"n":9,${VIDEO},"n":1}`, 'n'],
      [`{${VIDEO},"Model":"sandbox/other"}`, 'Model'],
      [`{${VIDEO},"provider":{"options":{"sandbox":{"a":1,"a":2}}}}`, 'provider.options.sandbox.a'],
    ];
    for (const [text, name] of texts) {
      const response = await post(url, text, headers);
      assert.equal(response.status, 400);
      assert.ok((await response.text()).includes(name), text);
    }
    const forms: [string, string][][] = [
      [
        ['model', 'sandbox/other'],
        ['model', 'sandbox/video'],
        ['prompt', 'x'],
      ],
      [
        ['model', 'sandbox/video'],
        ['prompt', 'x'],
        ['PROMPT', 'y'],
      ],
      [
        ['model', 'sandbox/video'],
        ['prompt', 'x'],
        ['metadata[a]', '1'],
        ['metadata[a]', '2'],
      ],
      [
        ['model', 'sandbox/video'],
        ['prompt', 'x'],
        ['provider', '{"only":["a"],"only":["sandbox"]}'],
      ],
    ];
    for (const fields of forms) {
      const form = new FormData();
      for (const [name, value] of fields) form.append(name, value);
      const { authorization = '' } = headers;
      const response = await fetch(url, { method: 'POST', headers: { authorization }, body: form });
      assert.equal(response.status, 400, JSON.stringify(fields));
    }
    return `400 for ${texts.length + forms.length} of ${texts.length + forms.length}`;
  },
);

attack(
  'names',
  {
    by: 'key holder',
    attempt: '20 MB with 99,000 names, in ten objects or in one, that are all escaped',
    bound: 'read, or refused for more than 10,000 members of one object; the event loop is held for less than 100 ms',
  },
  async () => {
    const name = '\\u0061'.repeat(30);
    const names = Array.from({ length: 99_000 }, (_, index) => `"${name}${index}":1`);
    const ten = Array.from(
      { length: 10 },
      (_, index) => `{${names.slice(index * 9_900, (index + 1) * 9_900).join(',')}}`,
    );
    const read = (filler: string) => {
      const text = Buffer.from(`{"model":"chat/dear","x":${filler},${members('chat')}}`);
      return longestHold(() => readBody(text, { names: protocolOf('chat').operations.complete.names }));
    };
    const longest = Math.max(
      await read(`[${ten.join(',')}]`),
      await read(`{${names.join(',')}}`).then(
        () => assert.fail('an object of 99,000 members was read'),
        (error) => {
          assert.match(String(error), /more than 10000 members/);
          return 0;
        },
      ),
    );
    assert.ok(longest < 100, `${longest} ms`);
    return `${Math.round(longest)} ms`;
  },
);

/** The longest time for which `work` held the thread. Of several tries the best counts: others share the machine, and its caches. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let longest = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < 4 && longest >= 100; turn++) {
    let most = 0;
    let at = threadMilliseconds();
    let reading = true;
    const watch = (): void => {
      const now = threadMilliseconds();
      most = Math.max(most, now - at);
      at = now;
      if (reading) setImmediate(watch);
    };
    setImmediate(watch);
    try {
      await work();
    } finally {
      reading = false;
    }
    longest = Math.min(longest, most);
  }
  return longest;
}

/** What this thread has worked; time in which others have the processor does not count. */
function threadMilliseconds(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
