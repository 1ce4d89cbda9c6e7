/** Facts that an upstream reports: decisive statuses, failures inside answers, names of models, and ids. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import { WIRES } from '../faults/wires.ts';
import {
  type Answerer,
  answerEvents,
  answerJson,
  ask,
  HEADERS,
  type ProtocolId,
  startTestGateway,
  startUpstream,
  type TestGateway,
  type TestUpstream,
} from './harness.ts';

const PROVIDERS: Record<ProtocolId, string> = { chat: 'a', messages: 'b', generate: 'c' };
/** A key without a form by which it could be known. */
const PLAIN_KEY = '7d0a4be91c5f4c6e8a2b3d4f5e6a7b8c';
const IDS = Object.keys(PROVIDERS) as ProtocolId[];

let upstream: TestUpstream;
let gateway: TestGateway;
let answer: Answerer = () => {};

before(async () => {
  upstream = await startUpstream((call, response) => answer(call, response));
  // Each test has models of its own, so that none rests because of another.
  const models = `[${[...Array(200).keys()].map((index) => `{ id: m${index} }`).join(', ')}]`;
  gateway = await startTestGateway(`
providers:
  a: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: ${PLAIN_KEY}, models: ${models} }
  b: { type: anthropic, base_url: "${upstream.url}", api_key: ${PLAIN_KEY}, models: ${models} }
  c: { type: google, base_url: "${upstream.url}", api_key: ${PLAIN_KEY}, models: ${models} }
`);
});

after(async () => {
  await gateway.close();
  await upstream.close();
});

let asked = 0;

interface Told {
  response: Response;
  text: string;
}

async function told(protocol: ProtocolId, target: ProtocolId, stream = false): Promise<Told> {
  const response = await ask(gateway, { protocol, model: `${PROVIDERS[target]}/m${asked++}`, text: 'hi', stream });
  return { response, text: await response.text() };
}

const BODIES: [name: string, body: Json][] = [
  ['another type', { type: 'error', error: { type: 'api_error', message: 'Slow down.', code: 'timeout' } }],
  ['an invalid request', { type: 'error', error: { type: 'invalid_request_error', message: 'Slow down.' } }],
  ['a model that is not there', { error: { type: 'not_found_error', code: 'model_not_found', message: 'Slow down.' } }],
  ['a failed precondition', { error: { code: 400, status: 'FAILED_PRECONDITION', message: 'Slow down.' } }],
  ['no type', { error: { message: 'Slow down.' } }],
  ['nothing', {}],
];

const STATUSES: [status: number, shown: Record<ProtocolId, number>][] = [
  [429, { chat: 429, messages: 429, generate: 429 }],
  [503, { chat: 503, messages: 529, generate: 503 }],
  [529, { chat: 503, messages: 529, generate: 503 }],
  [408, { chat: 504, messages: 504, generate: 504 }],
  [413, { chat: 413, messages: 413, generate: 400 }],
];

describe('a status decides, whatever the body says', () => {
  for (const target of IDS) {
    for (const client of IDS) {
      test(`${client} from ${target}`, async () => {
        for (const [status, shown] of STATUSES) {
          for (const [name, body] of status === 429 ? BODIES : BODIES.slice(0, 1)) {
            answer = (_call, response) => answerJson(response, body, status, { 'retry-after': '7' });
            const { response, text } = await told(client, target);
            const isRaw = client === target && response.status === status;
            assert.ok(isRaw || response.status === shown[client], `${status} with ${name}: ${response.status} ${text}`);
            if (status === 429) assert.equal(response.headers.get('retry-after'), '7', name);
          }
        }
      });
    }
  }
});

describe('a choice that failed', () => {
  const error = { code: 429, message: 'The provider is limited.' };
  const failed = { index: 0, finish_reason: 'error' };
  const forms: [name: string, (side: Json) => Json][] = [
    ['error beside the choices', (side) => ({ error, choices: [{ ...failed, ...side }] })],
    ['error in the choice', (side) => ({ choices: [{ ...failed, ...side, error }] })],
  ];
  for (const [name, form] of forms) {
    for (const client of IDS) {
      test(`${name}, whole, to ${client}`, async () => {
        answer = (_call, response) =>
          answerJson(response, { ...WIRES.chat.whole, ...form({ message: { role: 'assistant', content: 'Hel' } }) });
        const { response, text } = await told(client, 'chat');
        assert.equal(response.status, 429, text);
      });

      for (const done of ['', 'data: [DONE]\n\n']) {
        test(`${name}, streamed, ${done && 'then [DONE], '}to ${client}`, async () => {
          const frame = `data: ${JSON.stringify({ id: 'c', model: 'm', ...form({ delta: { content: '' } }) })}\n\n`;
          answer = (_call, response) => answerEvents(response, WIRES.chat.head + frame + done);
          const { response, text } = await told(client, 'chat', true);
          assert.equal(response.status, 200);
          assert.match(text, /Hel/);
          assert.match(text.slice(text.lastIndexOf('data:')), /"error":\{/);
          assert.doesNotMatch(text, /\[DONE\]|message_stop/);
          const id = response.headers.get('x-polygate-request-id');
          const line = gateway.log.find((entry) => entry.requestId === id && entry.msg === 'answered');
          assert.equal(line?.status, 'failed');
        });
      }
    }
  }
});

describe('the upstream’s name of the model is never shown', () => {
  for (const protocol of IDS) {
    const member = protocol === 'generate' ? 'modelVersion' : 'model';
    for (const [name, more] of [
      ['twice', `"${member}":"secret-name"`],
      ['with an escape', `"\\u006d${member.slice(1)}":"secret-name"`],
    ]) {
      test(`${protocol}, ${name}`, async () => {
        answer = (call, response) => {
          const whole = JSON.stringify(WIRES[protocol].whole);
          if (!call.path.includes('tream') && !call.body.stream) {
            response.writeHead(200, { 'content-type': 'application/json' });
            response.end(`${whole.slice(0, -1)},${more}}`);
          } else {
            const stream = WIRES[protocol].head + WIRES[protocol].tail;
            answerEvents(response, stream.replaceAll(`"${member}":"m"`, `"${member}":"m",${more}`));
          }
        };
        for (const stream of [false, true]) {
          const { response, text } = await told(protocol, protocol, stream);
          assert.equal(response.status, 200, text);
          assert.doesNotMatch(text, /secret-name/);
          assert.match(text, new RegExp(`/m${asked - 1}"`));
        }
      });
    }
  }
});

describe('translated answers have ids of their own', () => {
  const FORMATS: Record<ProtocolId, RegExp> = {
    chat: /^chatcmpl-[0-9a-f]{32}$/,
    messages: /^msg_[0-9a-f]{32}$/,
    generate: /^[0-9a-f]{32}$/,
  };

  /** Every id of the answer itself. */
  function idsIn(protocol: ProtocolId, text: string, stream: boolean): string[] {
    const bodies: Json[] = stream
      ? parseEvents(Buffer.from(text))
          .filter(({ data }) => data !== '[DONE]')
          .map(({ data }) => JSON.parse(data))
      : [JSON.parse(text)];
    const ids = bodies.map(({ id, message, responseId }) =>
      protocol === 'generate' ? responseId : (id ?? message?.id),
    );
    return protocol === 'messages' ? ids.filter((id) => id !== undefined) : ids;
  }

  for (const client of IDS) {
    for (const target of IDS) {
      for (const stream of [false, true]) {
        test(`${client} from ${target}, ${stream ? 'streamed' : 'whole'}`, async () => {
          answer = (_call, response) =>
            stream
              ? answerEvents(response, WIRES[target].head + WIRES[target].tail)
              : answerJson(response, WIRES[target].whole);
          const seen = new Set<string>();
          for (let count = 0; count < 2; count++) {
            const { response, text } = await told(client, target, stream);
            const ids = new Set(idsIn(client, text, stream));
            assert.equal(ids.size, 1, [...ids].join());
            const [id = ''] = ids;
            seen.add(id);
            if (client === target) continue;
            assert.match(id, FORMATS[client]);
            const generation = await fetch(`${gateway.url}/v1/generation?id=${id}`, { headers: HEADERS.chat });
            const { data }: Json = await generation.json();
            assert.equal(data.id, response.headers.get('x-polygate-request-id'));
            assert.equal(data.upstream_id, { chat: 'chatcmpl-1', messages: 'msg_1', generate: 'r1' }[target]);
          }
          assert.equal(seen.size, client === target ? 1 : 2);
        });
      }
    }
  }

  test('calls without an id get one that no other answer’s have', async () => {
    const call = { type: 'function', function: { name: 'look', arguments: '{}' } };
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    answer = ({ path }, response) =>
      answerJson(
        response,
        path.includes('generate')
          ? {
              candidates: [
                { content: { parts: [{ functionCall: { name: 'look', args: {} } }] }, finishReason: 'STOP' },
              ],
            }
          : { id: 'same', created: 1, model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] },
      );
    for (const target of ['chat', 'generate'] as const) {
      const seen = new Set<string>();
      for (let count = 0; count < 3; count++) {
        const { text } = await told('messages', target);
        seen.add(JSON.parse(text).content[0].id);
      }
      assert.equal(seen.size, 3, target);
    }
  });
});

describe('the credential in the words of an upstream does not reach the client', () => {
  const message = `The key ${PLAIN_KEY} may not use this.`;
  const error = { type: 'invalid_request_error', status: 'INVALID_ARGUMENT', message };
  for (const client of IDS) {
    for (const target of IDS) {
      test(`${client} from ${target}`, async () => {
        answer = (_, response) => answerJson(response, { type: 'error', error }, 400);
        const refused = await told(client, target);
        assert.equal(refused.response.status, 400);
        assert.match(refused.text, /The key \*{32} may not use this\./);

        const { head, text } = WIRES[target];
        const data = JSON.stringify({ type: 'error', error });
        answer = (_, response) => answerEvents(response, `${head}${text('lo')}event: error\ndata: ${data}\n\n`);
        const broken = await told(client, target, true);
        assert.match(broken.text, /The key \*{32} may not use this\./);
        assert.ok(![refused.text, broken.text].join().includes(PLAIN_KEY));
      });
    }
  }
});

describe('the key that an upstream repeats', () => {
  async function refusedWith(error: Json, { status = 400, ...more }: { status?: number; [member: string]: Json } = {}) {
    answer = (_, response) => answerJson(response, { error, ...more }, status);
    const { response, text } = await told('chat', 'chat');
    assert.equal(response.status, 400, text);
    return text;
  }

  test('is not in the name of a parameter', async () => {
    const text = await refusedWith({ message: 'No such thing.', param: `a.${PLAIN_KEY}` });
    assert.ok(text.includes('No such thing.') && !text.includes(PLAIN_KEY), text);
  });

  test('is not in an error within a large answer, which is parsed in slices', async () => {
    const pad = Array.from({ length: 12_000 }, (_, index) => index);
    const text = await refusedWith({ message: `The key ${PLAIN_KEY} is none.`, code: 400 }, { status: 200, pad });
    assert.ok(!text.includes(PLAIN_KEY), text);
    assert.match(text, /The key \*{32} is none\./);
  });

  test('is not in the end of a message that was cut', async () => {
    const text = await refusedWith({ message: `${'x'.repeat(990)}${PLAIN_KEY}` });
    assert.match(text, /x\*+"/);
  });

  test('is not in the id of a request, which is passed on otherwise', async () => {
    for (const [id, shown] of [
      [`req-${PLAIN_KEY}`, null],
      ['req-1', 'req-1'],
    ] as const) {
      answer = (_, response) => answerJson(response, WIRES.chat.whole, 200, { 'x-request-id': id });
      const { response } = await told('chat', 'chat');
      assert.equal(response.headers.get('x-polygate-upstream-request-id'), shown);
    }
  });

  test('other errors are relayed as they came', async () => {
    for (const message of [`${'x'.repeat(999)}😀 tail`, `It ends like ${PLAIN_KEY.slice(0, 4)}`]) {
      const error = { message, code: 'bad', detail: { more: 1 } };
      assert.deepEqual(JSON.parse(await refusedWith(error)).error, error);
    }
  });
});
