/** Conformance: streams of the messages protocol, and counting tokens. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, PATHS, post, question } from '../gateway/harness.ts';
import { checkMessagesStream } from '../validators/messages.ts';
import { frame, type Said, SPEAKERS } from './answers.ts';
import { IDS, MODELS, send, streamed, TOOLS, useRig, whole } from './rig.ts';

const rig = useRig({ yaml: 'server: { keep_alive: 50ms }' });

const ANSWERS: Record<string, Said> = {
  text: { text: 'Hello' },
  thoughts: { reasoning: 'Hmm.', text: 'Hello' },
  calls: {
    text: 'Well',
    calls: [
      { id: 'call_1', name: 'f', args: { a: 1 } },
      { id: 'call_2', name: 'f', args: {} },
    ],
  },
  'thoughts before a call': { reasoning: 'Hmm.', signature: 'c2ln', calls: [{ id: 'c', name: 'f', args: { a: 1 } }] },
};

const eventStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

async function ask(model: string, said: Said): Promise<Json[]> {
  rig.say(said);
  const text = await streamed(rig, { protocol: 'messages', model, change: TOOLS.messages });
  const { ending, data } = checkMessagesStream(text);
  assert.equal(ending, 'complete');
  return data;
}

const ofType = (data: Json[], type: string): Json[] => data.filter((event) => event.type === type);

for (const upstream of ['chat', 'generate'] as const) {
  const model = MODELS[upstream];

  describe(`a messages client before ${upstream}`, () => {
    for (const [name, said] of Object.entries(ANSWERS)) {
      test(`checklist 38, 39, 41, 46: the grammar of ${name}`, async () => {
        const data = await ask(model, said);
        const blocks = ofType(data, 'content_block_start').map(({ content_block: { type } }) => type);
        const expected = [
          ...(said.reasoning ? ['thinking'] : []),
          ...(said.text ? ['text'] : []),
          ...(said.calls ?? []).map(() => 'tool_use'),
        ];
        assert.deepEqual(
          blocks.filter((type, index) => !(type === 'thinking' && index > 0)),
          expected,
        );
        assert.equal(ofType(data, 'message_delta')[0].delta.stop_reason, said.calls ? 'tool_use' : 'end_turn');
      });

      test(`checklist 40: usage of ${name} at both ends, cumulative`, async () => {
        const data = await ask(model, said);
        const [{ message }] = ofType(data, 'message_start') as [Json];
        const [{ usage }] = ofType(data, 'message_delta') as [Json];
        assert.equal(typeof message.usage.input_tokens, 'number');
        assert.ok(message.usage.output_tokens <= usage.output_tokens);
        assert.deepEqual([usage.input_tokens, usage.output_tokens], [10, 5]);
      });
    }

    test('checklist 40: usage stands at both ends even if the upstream counts nothing', async () => {
      const data = await ask(model, { text: 'Hello', usage: null });
      assert.equal(typeof ofType(data, 'message_delta')[0].usage.output_tokens, 'number');
    });

    for (const args of [{}, { a: 1 }, { deep: { list: [1, 'zwei', null], text: '"{}\\ 🦊' } }]) {
      test(`checklist 43: fragments of ${JSON.stringify(args)}`, async () => {
        const data = await ask(model, { calls: [{ id: 'c', name: 'f', args }] });
        const text = ofType(data, 'content_block_delta').map(({ delta }) => delta.partial_json ?? '');
        assert.deepEqual(JSON.parse(text.join('') || '{}'), args);
      });
    }

    test('checklist 42: the signature of a block comes before its end', async () => {
      const data = await ask(model, ANSWERS['thoughts before a call'] ?? {});
      const isSignature = ({ delta }: { delta?: { type: string } }) => delta?.type === 'signature_delta';
      const signed = data.flatMap((event, index) => (isSignature(event) ? [index] : []));
      assert.notEqual(signed.length, 0);
      for (const at of signed) {
        assert.deepEqual([data[at + 1].type, data[at + 1].index], ['content_block_stop', data[at].index]);
      }
      // Without state of the upstream it is empty.
      const signatures = signed.map((at) => data[at].delta.signature);
      assert.equal(
        signatures.every((signature) => signature === ''),
        upstream === 'chat',
      );
    });

    test('checklist 44: a failure in the middle is an error event and no message_stop', async () => {
      const stream = SPEAKERS[upstream].stream({ text: 'Hello' });
      const begun = stream.slice(0, stream.indexOf('\n\n', stream.indexOf('Hel')) + 2);
      const error =
        upstream === 'chat'
          ? frame({ error: { message: 'Busy.', type: 'service_unavailable_error', code: 'server_is_overloaded' } })
          : frame({ error: { code: 503, message: 'Busy.', status: 'UNAVAILABLE' } });
      for (const [rest, type] of [
        [error, 'overloaded_error'],
        ['', 'api_error'],
      ]) {
        rig.answer((_call, response) => void eventStream(response).end(begun + rest));
        const got = await send(rig, { protocol: 'messages', model, stream: true });
        const { ending, data } = checkMessagesStream(got.text);
        assert.equal(ending, 'error');
        assert.equal(data.at(-1).error.type, type);
        assert.equal(data.at(-1).request_id, got.headers.get('request-id'));
      }
    });

    test('checklist 45: pings in silence, after message_start', async () => {
      const stream = SPEAKERS[upstream].stream({ text: 'Hello' });
      const middle = stream.indexOf('\n\n', stream.indexOf('Hel')) + 2;
      const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
      rig.answer(async (_call, response) => {
        eventStream(response).write(`: waiting\n\n${stream.slice(0, middle)}: still waiting\n\n`);
        await heard;
        response.end(stream.slice(middle));
      });
      const body = question('messages', model, 'hi', true);
      const response = await post(rig.gateway.url + PATHS.messages(), body, HEADERS.messages);
      let text = '';
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        if (text.includes('event: ping')) hear();
      }
      assert.equal(checkMessagesStream(text).ending, 'complete');
    });
  });
}

test('checklist 39, 43: calls whose pieces interleave upstream come one after the other', async () => {
  const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const chunk = (delta: Json, finish_reason: string | null = null) =>
    frame({ ...head, choices: [{ index: 0, delta, finish_reason }] });
  const call = (index: number, args: string, id?: string) => ({
    index,
    ...(id && { id, type: 'function' }),
    function: { ...(id && { name: `f${index}` }), arguments: args },
  });
  const stream = [
    chunk({ role: 'assistant', content: 'a' }),
    chunk({ tool_calls: [call(0, '', 'call_0')] }),
    chunk({ tool_calls: [call(1, '', 'call_1')] }),
    chunk({ tool_calls: [call(0, '{"a":'), call(1, '{"b":')] }),
    chunk({ content: 'b' }),
    chunk({ tool_calls: [call(1, '2}')] }),
    chunk({ tool_calls: [call(0, '1}')] }),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ].join('');
  rig.answer((_call, response) => void eventStream(response).end(stream));
  const { data } = checkMessagesStream(
    await streamed(rig, { protocol: 'messages', model: 'a/m', change: TOOLS.messages }),
  );
  const inputs = new Map<string, string>();
  const names = new Map(ofType(data, 'content_block_start').map((event) => [event.index, event.content_block.name]));
  for (const { index, delta } of ofType(data, 'content_block_delta')) {
    if (delta.type !== 'input_json_delta') continue;
    inputs.set(names.get(index), (inputs.get(names.get(index)) ?? '') + delta.partial_json);
  }
  assert.deepEqual(Object.fromEntries(inputs), { f0: '{"a":1}', f1: '{"b":2}' });
});

test('checklist 43: an upstream whose arguments are no JSON fails, and does not pass them on as whole', async () => {
  rig.say({ calls: [{ id: 'c', name: 'f', args: '{"a": oops' }] });
  const text = await streamed(rig, { protocol: 'messages', model: 'a/m', change: TOOLS.messages });
  assert.equal(checkMessagesStream(text).ending, 'error');
});

for (const upstream of IDS) {
  test(`checklist 47: tokens are counted before ${upstream}`, async () => {
    const counted = { messages: { input_tokens: 7 }, generate: { totalTokens: 7 }, chat: {} }[upstream];
    rig.answer((_call, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(counted));
    });
    const model = MODELS[upstream];
    for (const path of ['/anthropic/v1/messages/count_tokens', '/anthropic/v1/messages/count_tokens?beta=true']) {
      const change = { max_tokens: undefined };
      const got = await send(rig, { protocol: 'messages', model, change, path });
      const body = await whole(rig, { protocol: 'messages', model, change, path });
      assert.deepEqual(Object.keys(body), ['input_tokens']);
      if (upstream !== 'chat') assert.equal(body.input_tokens, 7);
      else assert.ok(body.input_tokens > 0 && rig.upstream.calls.length === 0);
      assert.equal(got.headers.get('x-polygate-estimated'), upstream === 'chat' ? 'true' : null);
    }
  });
}
