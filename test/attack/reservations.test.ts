/** Requests that try to cost more than was reserved of a budget: whatever goes out must fit into what is left. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../../src/core/json/json.ts';
import {
  answerJson,
  PATHS,
  type ProtocolId,
  post,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
  type UpstreamCall,
} from '../gateway/harness.ts';
import { get, headersWith } from '../gateway/usage-client.ts';
import { answersOf } from './answers.ts';
import { attack } from './attack.ts';
import { numberIn, READERS, type Reader, type Told, tellAll } from './readers.ts';

const POOR_KEY = 'sk-test-poor-0123456789';
const COMPACTING_KEY = 'sk-test-compacting-0123456789';
const FREE_KEY = 'sk-test-free-0123456789';
const IDS: ProtocolId[] = ['chat', 'messages', 'generate'];
const TYPES = { chat: 'openai-compatible', messages: 'anthropic', generate: 'google' };
/** USD: of the key, and of a token of output. */
const BUDGET = 0.1;
const PRICE = 0.00001;

/** They used nothing, so that each request finds the whole budget. */
const ANSWERS = answersOf('m', 0);

const upstreams: Partial<Record<ProtocolId, TestUpstream>> = {};
let gateway: TestGateway;
/** Settles when requests that are held together may end. */
const held = Promise.withResolvers<void>();
/** Compacts when it may, and says that it took 4,000 tokens of output. */
let compactions: TestUpstream;
const compacted = Promise.withResolvers<void>();

before(async () => {
  for (const id of IDS) {
    upstreams[id] = await startUpstream(async (call, response) => {
      if (call.bytes.includes('"together"')) await held.promise;
      answerJson(response, ANSWERS[id]);
    });
  }
  compactions = await startUpstream(async (_call, response) => {
    await compacted.promise;
    const output = [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'opaque' }];
    const usage = { input_tokens: 0, output_tokens: 4000, total_tokens: 4000 };
    answerJson(response, { id: 'resp_1', object: 'response.compaction', created_at: 1, output, usage });
  });
  const pricing = 'pricing: { prompt: "0", completion: "0.00001" }';
  // The two may say a million tokens at once, 10 USD; of the third nobody knows how many.
  const models = `[{ id: cheap, max_completion_tokens: 1000000, ${pricing} }, { id: dear, max_completion_tokens: 1000000, ${pricing} }, { id: unknown, ${pricing} }]`;
  const providers = IDS.map((id) => {
    const version = id === 'chat' ? '/v1' : '';
    return `  ${id}: { type: ${TYPES[id]}, api_key: k, base_url: "${upstreams[id]?.url}${version}", models: ${models} }`;
  });
  providers.push(
    `  responses: { type: openai, api_key: k, base_url: "${compactions.url}/v1", models: [{ id: cheap, ${pricing} }] }`,
  );
  gateway = await startTestGateway(`providers:\n${providers.join('\n')}`, {
    keys: [
      `{ name: compacting, key: ${COMPACTING_KEY}, budgets: { day: "${BUDGET}" } }`,
      `{ name: poor, key: ${POOR_KEY}, models: ["*/cheap", "*/unknown"], budgets: { day: "${BUDGET}" } }`,
      `{ name: free, key: ${FREE_KEY} }`,
    ],
  });
});

after(async () => {
  await gateway.close();
  for (const upstream of [compactions, ...Object.values(upstreams)]) await upstream.close();
});

/** A plain question without a limit, as members. */
const QUESTIONS: Record<ProtocolId, string> = {
  chat: '"messages":[{"role":"user","content":"Hi"}]',
  messages: '"messages":[{"role":"user","content":"Hi"}]',
  generate: '"contents":[{"role":"user","parts":[{"text":"Hi"}]}]',
};

interface Sent {
  status: number;
  said: string;
  /** What the upstream got, if anything. */
  call?: UpstreamCall;
}

interface Wish {
  from: ProtocolId;
  to: ProtocolId;
  model?: string;
  key?: string;
  headers?: Record<string, string>;
}

async function send(text: string, { from, to, model = 'cheap', key = POOR_KEY, headers = {} }: Wish): Promise<Sent> {
  const { calls = [] } = upstreams[to] ?? {};
  const before = calls.length;
  const path = PATHS[from](`${to}/${model}`, false);
  const response = await post(gateway.url + path, text, { ...headersWith(from, key), ...headers });
  const said = await response.text();
  assert.ok(calls.length - before <= 1);
  assert.ok(response.status < 500, said);
  return { status: response.status, said, ...(calls.length > before && { call: calls.at(-1) }) };
}

const withModel = (from: ProtocolId, name: string, more = ''): string =>
  `{${from === 'generate' ? '' : `"model":${JSON.stringify(name)},`}${QUESTIONS[from]}${more}}`;

const LIMITS = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_new_tokens',
  'n_predict',
  'num_predict',
];
const COUNTS = ['n', 'best_of', 'num_return_sequences'];

/** Tokens that an upstream may say, in all answers together, as one reader of its body sees them; Infinity where nothing bounds them. */
function mostTokens(told: Told, read: Reader, protocol: ProtocolId): number {
  const figure = (holder: Told | undefined, names: string[], otherwise: number): number => {
    const figures = names.map((name) => numberIn(read(holder, name))).filter((one) => one !== undefined);
    return figures.length === 0 ? otherwise : Math.max(...figures);
  };
  if (protocol === 'messages') return figure(told, ['max_tokens'], Number.POSITIVE_INFINITY);
  if (protocol === 'generate') {
    const config = read(told, 'generationConfig') ?? read(told, 'generation_config');
    const limit = figure(config, ['maxOutputTokens', 'max_output_tokens'], Number.POSITIVE_INFINITY);
    return limit * figure(config, ['candidateCount', 'candidate_count'], 1);
  }
  const thinking = figure(read(told, 'reasoning'), ['max_tokens'], 0);
  return (figure(told, LIMITS, Number.POSITIVE_INFINITY) + thinking) * figure(told, COUNTS, 1);
}

/** Fails unless every reader of what was sent sees the same tokens, and the budget pays for them. */
function assertPaid({ call, said, status }: Sent, protocol: ProtocolId): number {
  assert.ok(call, `${status}: ${said}`);
  const told = tellAll(call.bytes.toString());
  const seen = Object.entries(READERS).map(([name, read]) => [name, mostTokens(told, read, protocol)] as const);
  for (const [name, tokens] of seen) {
    assert.equal(tokens, seen[0]?.[1], `${name}: ${call.bytes}`);
    assert.ok(tokens * PRICE <= BUDGET, `${name}: ${tokens} tokens in ${call.bytes}`);
  }
  return seen[0]?.[1] ?? 0;
}

attack(
  'reservations',
  {
    by: 'key holder',
    attempt:
      'no limit is given to a model that may say a million tokens (10 USD) with a budget of 0.10 USD, on twelve ways',
    bound: 'what is sent has a limit that the budget pays for, and one of a sensible length',
  },
  async () => {
    const limits: number[] = [];
    for (const from of ['chat', 'generate'] as const) {
      for (const to of IDS) {
        for (const model of ['cheap', 'unknown']) {
          const tokens = assertPaid(await send(withModel(from, `${to}/${model}`), { from, to, model }), to);
          assert.ok(tokens >= 1024, `${tokens}`);
          limits.push(tokens);
        }
      }
    }
    return `limits of ${Math.min(...limits)} to ${Math.max(...limits)} tokens`;
  },
);

attack(
  'reservations',
  {
    by: 'key holder',
    attempt: '20 requests at once without a limit, by a key with a budget of 0.10 USD',
    bound: 'all limits that are sent together fit into the budget; the rest gets 402',
  },
  async () => {
    const { calls = [] } = upstreams.chat ?? {};
    const before = calls.length;
    const wishes = Array.from({ length: 20 }, () =>
      post(
        gateway.url + PATHS.chat(),
        withModel('chat', 'chat/cheap', ',"user":"together"'),
        headersWith('chat', POOR_KEY),
      ),
    );
    // Those that were refused end by themselves; the others wait for each other.
    let ended = 0;
    for (const wish of wishes) void wish.then(() => ended++);
    while (ended + calls.length - before < wishes.length) await new Promise(setImmediate);
    const limits = calls.slice(before).map(({ body }) => body.max_tokens);
    held.resolve();
    const responses = await Promise.all(wishes);
    await Promise.all(responses.map((response) => response.text()));
    const refused = responses.filter(({ status }) => status === 402).length;
    assert.equal(refused + limits.length, responses.length);
    const cost = limits.reduce((sum, limit) => sum + limit * PRICE, 0);
    assert.ok(cost <= BUDGET, `${cost} USD`);
    assert.ok(limits.length >= 3, `${limits}`);
    return `${limits.length} sent with limits that cost ${cost.toFixed(4)} USD, ${refused} refused`;
  },
);

attack(
  'reservations',
  {
    by: 'key holder',
    attempt: '20 compactions at once, which no limit bounds, by a key with a budget of 0.10 USD',
    bound: 'each reserves 4096 tokens of output, so that 2 are sent; the rest gets 402',
  },
  async () => {
    const wishes = Array.from({ length: 20 }, () =>
      post(
        `${gateway.url}/v1/responses/compact`,
        { model: 'responses/cheap', input: 'Hi' },
        headersWith('chat', COMPACTING_KEY),
      ),
    );
    let ended = 0;
    for (const wish of wishes) void wish.then(() => ended++);
    while (ended + compactions.calls.length < wishes.length) await new Promise(setImmediate);
    const sent = compactions.calls.length;
    compacted.resolve();
    const responses = await Promise.all(wishes);
    await Promise.all(responses.map((response) => response.text()));
    const statuses = responses.map(({ status }) => status);
    assert.deepEqual([sent, statuses.filter((status) => status === 402).length], [2, 18]);
    const { data } = (await get(gateway.url, '/v1/key', COMPACTING_KEY)).body;
    assert.ok(data.usage <= BUDGET, `${data.usage} USD`);
    return `${sent} sent, ${data.usage} USD`;
  },
);

/** Members that ask for more than the budget pays for; a limit of 10 stands beside them where the protocol has one. */
const RAISES: [from: ProtocolId, to: ProtocolId, more: string][] = [
  ['chat', 'chat', ',"max_tokens":10,"max_completion_tokens":1000000'],
  ['chat', 'chat', ',"max_completion_tokens":10,"max_tokens":1000000'],
  ['chat', 'chat', ',"max_tokens":10,"n_predict":-1'],
  ['chat', 'chat', ',"max_tokens":10,"max_new_tokens":"1000000"'],
  ['chat', 'chat', ',"max_tokens":10,"best_of":100000'],
  ['chat', 'chat', ',"n_predict":0,"best_of":-1'],
  ['chat', 'chat', ',"max_tokens":9000,"n":128'],
  ['chat', 'chat', ',"max_tokens":10,"reasoning":{"max_tokens":900000}'],
  ['chat', 'chat', ',"max_tokens":10,"provider":{"options":{"chat":{"max_completion_tokens":1000000}}}'],
  ['chat', 'chat', ',"max_tokens":10,"provider":{"options":{"chat":{"n":128,"best_of":100000}}}'],
  ['chat', 'chat', ',"max_tokens":10,"provider":{"options":{"openai-compatible":{"num_predict":1000000}}}'],
  ['chat', 'chat', ',"max_tokens":10,"provider":{"options":{"chat":{"extra_body":{"max_tokens":1000000}}}}'],
  ['chat', 'messages', ',"max_tokens":10,"provider":{"options":{"messages":{"max_tokens":1000000}}}'],
  ['chat', 'messages', ',"provider":{"options":{"messages":{"max_tokens":1000000}}}'],
  ['chat', 'messages', ',"provider":{"options":{"messages":{"thinking":{"type":"enabled","budget_tokens":900000}}}}'],
  ['chat', 'generate', ',"provider":{"options":{"generate":{"generationConfig":{"maxOutputTokens":1000000}}}}'],
  ['chat', 'generate', ',"provider":{"options":{"generate":{"generation_config":{"candidate_count":100000}}}}'],
  ['messages', 'messages', ',"max_tokens":1000000'],
  ['messages', 'chat', ',"max_tokens":10,"provider":{"options":{"chat":{"max_completion_tokens":1000000}}}'],
  ['messages', 'messages', ',"max_tokens":10,"provider":{"options":{"messages":{"MAX_TOKENS":1000000}}}'],
  ['generate', 'generate', ',"generationConfig":{"maxOutputTokens":1000000}'],
  ['generate', 'generate', ',"generation_config":{"max_output_tokens":9000,"candidate_count":8}'],
];

attack(
  'reservations',
  {
    by: 'key holder',
    attempt:
      'limits, counts and thinking budgets are raised by other names for them, in the request and in provider.options',
    bound: 'refused, or what is sent fits into the budget',
  },
  async () => {
    let refused = 0;
    for (const [from, to, more] of RAISES) {
      const sent = await send(withModel(from, `${to}/cheap`, more), { from, to });
      if (sent.status >= 400) refused++;
      else assertPaid(sent, to);
      if (sent.status >= 400) assert.equal(sent.call, undefined, more);
    }
    return `${refused} of ${RAISES.length} refused, the others fit`;
  },
);

attack(
  'reservations',
  {
    by: 'key holder',
    attempt: 'options of the header x-polygate-provider raise a limit that a generateContent request has',
    bound: 'refused, or what is sent fits into the budget',
  },
  async () => {
    const options = { generate: { generationConfig: { maxOutputTokens: 1_000_000 } } };
    const headers = { 'x-polygate-provider': JSON.stringify({ options }) };
    const text = withModel('generate', '', ',"generationConfig":{"maxOutputTokens":10}');
    const { status, call } = await send(text, { from: 'generate', to: 'generate', headers });
    assert.ok(status >= 400);
    assert.equal(call, undefined);
    const open = await send(withModel('generate', ''), { from: 'generate', to: 'generate', headers });
    if (open.status < 400) assertPaid(open, 'generate');
    else assert.equal(open.call, undefined);
    return `${status}, and ${open.status} without a limit of its own`;
  },
);

attack(
  'reservations',
  {
    by: 'key holder',
    attempt: 'a key without a budget sends what it likes',
    bound: 'nothing is added or changed',
  },
  async () => {
    const text = withModel('chat', 'chat/cheap', ',"n_predict":-1,"best_of":5');
    const { call } = await send(text, { from: 'chat', to: 'chat', key: FREE_KEY });
    assert.equal(call?.bytes.toString(), text.replace('chat/cheap', 'cheap'));
    return 'held';
  },
);

/** Ways to write a name: as it is, escaped, in another case, with other letters that fold to its own, in camel case. */
const SPELLINGS: ((name: string) => string)[] = [
  (name) => name,
  (name) => name,
  (name) => `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`,
  (name) =>
    [...name].map((letter) => `\\u${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`).join(''),
  (name) => name.toUpperCase(),
  (name) => name.replace('k', '\u212a').replace('s', '\\u017f'),
  (name) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
];

const AMOUNTS = [
  '1',
  '10',
  '2000',
  '9000',
  '1000000',
  '1e9',
  '-1',
  '"1000000"',
  'null',
  '123456789012345678901234567890',
];

interface Member {
  name: string;
  spell: (name: string) => string;
  value: string;
}

const NAMES: Record<ProtocolId, string[]> = {
  chat: ['model', ...LIMITS, ...COUNTS, 'temperature'],
  messages: ['model', 'max_tokens', 'top_k', 'temperature', 'top_p'],
  generate: ['model', 'maxOutputTokens', 'candidateCount', 'temperature'],
};

function memberOf(protocol: ProtocolId): fc.Arbitrary<Member> {
  return fc.constantFrom(...NAMES[protocol]).chain((name) =>
    fc.record({
      name: fc.constant(name),
      spell: fc.constantFrom(...SPELLINGS),
      value:
        name === 'model'
          ? fc.constantFrom('"dear"', `"${protocol}/cheap"`, `"${protocol}/dear"`)
          : fc.constantFrom(...AMOUNTS.slice(0, name.startsWith('t') ? 1 : undefined)),
    }),
  );
}

const textOf = (members: readonly Member[]): string =>
  members.map(({ name, spell, value }) => `"${spell(name)}" :${value}`).join(',');

/** Bodies in which members are repeated, renamed and moved, at the top or where the protocol has them, and in options. */
function bodyOf(protocol: ProtocolId): fc.Arbitrary<string> {
  const members = fc.array(memberOf(protocol), { maxLength: 2 });
  return fc
    .record({ before: members, after: members, options: members, plain: fc.boolean() })
    .map(({ before, after, options, plain }) => {
      const inside = protocol === 'generate';
      const wrap = (list: Member[]): string => {
        const [models, rest] = [
          list.filter(({ name }) => name === 'model'),
          list.filter(({ name }) => name !== 'model'),
        ];
        const config = rest.length > 0 ? [`"generationConfig":{${textOf(rest)}}`] : [];
        return inside ? [...(models.length > 0 ? [textOf(models)] : []), ...config].join(',') : textOf(list);
      };
      const optional =
        options.length > 0 && !inside ? `"provider":{"options":{"${protocol}":{${textOf(options)}}}}` : '';
      const own = inside
        ? ''
        : `"model":"${protocol}/cheap"${protocol === 'messages' && plain ? ',"max_tokens":10' : ''}`;
      return `{${[wrap(before), own, QUESTIONS[protocol], optional, wrap(after)].filter((text) => text !== '').join(',')}}`;
    });
}

for (const protocol of IDS) {
  attack(
    'reservations',
    {
      by: 'key holder',
      attempt: `${protocol}: members of models and money are repeated, escaped, moved and written in other cases, at random`,
      bound:
        'readers that take the first or the last, in any case, see one model and one limit, and the budget pays for it',
    },
    async () => {
      let passed = 0;
      let all = 0;
      await fc.assert(
        fc.asyncProperty(bodyOf(protocol), async (text) => {
          all++;
          const sent = await send(text, { from: protocol, to: protocol });
          if (sent.status >= 400) {
            assert.equal(sent.call, undefined, text);
            return;
          }
          passed++;
          assertPaid(sent, protocol);
          const told = tellAll(sent.call?.bytes.toString() ?? '');
          for (const read of Object.values(READERS)) {
            const model: Json = read(told, 'model');
            assert.match(model?.value ?? 'cheap', /^(models\/)?cheap$/, text);
          }
        }),
        { numRuns: 300 },
      );
      assert.ok(passed >= 10, `only ${passed} of ${all} were sent`);
      return `${passed} of ${all} sent, all within it`;
    },
  );
}
