/** Conformance: state of a model that must come back to it, and to no other. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import type { ProtocolId } from '../gateway/harness.ts';
import { checkChatStream } from '../validators/chat.ts';
import { MODELS, speak, streamed, TOOLS, useRig, whole } from './rig.ts';

const rig = useRig({
  yaml: `models: { house/m: { endpoints: [{ provider: b, model: m }, { provider: c, model: m, priority: 1 }] } }`,
  providers: `
  b2: { type: anthropic, base_url: "URL", api_key: k, models: [{ id: m }] }
  c2: { type: google, base_url: "URL", api_key: k, models: [{ id: m }] }
  g: { type: google, base_url: "URL", api_key: k, models: [{ id: gemini-3-pro }, { id: gemini-2.5-pro }] }`,
});

const SIGNATURE = 'c2lnbmVkLXN0YXRl';
const CALL = { id: 'call_1', name: 'f', args: { a: 1 } };

/** The assistant's message as a client that keeps everything puts it together. */
async function answered(model: string, stream: boolean): Promise<Json> {
  const sent = { protocol: 'chat', model, change: TOOLS.chat } as const;
  if (!stream) return (await whole(rig, sent)).choices[0].message;
  const message: Json = { role: 'assistant', content: null };
  for (const { choices } of checkChatStream(await streamed(rig, sent)).data) {
    const { reasoning_details = [], tool_calls = [] } = choices[0]?.delta ?? {};
    if (reasoning_details.length > 0)
      message.reasoning_details = [...(message.reasoning_details ?? []), ...reasoning_details];
    for (const call of tool_calls) {
      message.tool_calls ??= [];
      const known = message.tool_calls[call.index];
      if (known) known.function.arguments += call.function?.arguments ?? '';
      else message.tool_calls[call.index] = call;
    }
  }
  return message;
}

/** The tool loop goes on, perhaps with other ids, so that nothing but what the client sends can be remembered. */
async function goOn(model: string, message: Json): Promise<Json> {
  rig.upstream.calls.length = 0;
  const calls: Json[] = message.tool_calls.map((call: Json) => ({ ...call, id: `${call.id}_own` }));
  const change = { ...TOOLS.chat, ...chatHistoryOf({ ...message, tool_calls: calls }) };
  await whole(rig, { protocol: 'chat', model, change });
  return rig.sent().body;
}

function chatHistoryOf(message: Json): Json {
  const results = message.tool_calls.map(({ id }: Json) => ({ role: 'tool', tool_call_id: id, content: 'done' }));
  return { messages: [{ role: 'user', content: 'go' }, message, ...results] };
}

for (const stream of [false, true]) {
  const form = stream ? 'streamed' : 'whole';

  test(`checklist 70: thinking comes back signed by way of reasoning_details, ${form}`, async () => {
    rig.say({ reasoning: 'Hmm.', signature: SIGNATURE, calls: [CALL] });
    const message = await answered('b/m', stream);
    const { messages } = await goOn('b/m', message);
    assert.deepEqual(messages[1].content[0], { type: 'thinking', thinking: 'Hmm.', signature: SIGNATURE });
    assert.equal(messages[1].content[1].type, 'tool_use');
  });

  test(`checklist 71: a thought signature comes back by way of its call, ${form}`, async () => {
    rig.say({ signature: SIGNATURE, calls: [CALL, { ...CALL, id: 'call_2' }] });
    const { reasoning_details: _dropped, ...message } = await answered('g/gemini-3-pro', stream);
    const { contents } = await goOn('g/gemini-3-pro', message);
    const signatures = contents[1].parts.map((part: Json) => part.thoughtSignature);
    assert.deepEqual(signatures, [SIGNATURE, undefined]);
  });
}

describe('state of another', () => {
  const moves: [from: string, to: string][] = [
    ['b/m', 'b2/m'],
    ['b/m', 'c/m'],
    ['b/m', 'a/m'],
    ['c/m', 'c2/m'],
    ['c/m', 'b/m'],
    ['c/m', 'a/m'],
    ['g/gemini-3-pro', 'g/gemini-2.5-pro'],
  ];
  for (const [from, to] of moves) {
    for (const stream of [false, true]) {
      test(`checklist 72: of ${from} never goes to ${to}, ${stream ? 'streamed' : 'whole'}`, async () => {
        rig.say({ reasoning: 'Hmm.', signature: SIGNATURE, calls: [CALL] });
        const message = await answered(from, stream);
        assert.ok(JSON.stringify(message).includes('eyJ'), 'there is no state to lose');
        const text = JSON.stringify(await goOn(to, message));
        assert.ok(!text.includes(SIGNATURE), text);
        assert.ok(!text.includes('eyJwb2x5Z2F0ZSI6'), text);
        assert.ok(!/"type":"(redacted_)?thinking"/.test(text), text);
      });
    }
  }

  test('checklist 72: a Gemini call without state of its own gets the documented stand-in', async () => {
    rig.say({ reasoning: 'Hmm.', signature: SIGNATURE, calls: [CALL] });
    const { contents } = await goOn('g/gemini-3-pro', await answered('b/m', false));
    assert.equal(contents[1].parts[0].thoughtSignature, 'skip_thought_signature_validator');
  });

  test('checklist 72: raw state of unknown origin in a chat history goes to nobody else', async () => {
    const message = {
      role: 'assistant',
      content: null,
      reasoning_details: [{ type: 'reasoning.text', text: 'Hmm.', signature: SIGNATURE, index: 0 }],
      tool_calls: [
        {
          ...{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } },
          extra_content: { google: { thought_signature: SIGNATURE } },
        },
      ],
    };
    for (const model of ['b/m', 'c/m']) {
      assert.ok(!JSON.stringify(await goOn(model, message)).includes(SIGNATURE), model);
    }
  });

  test('checklist 72: a fallback to another provider brings nothing along', async () => {
    rig.say({ reasoning: 'Hmm.', signature: SIGNATURE, calls: [CALL] });
    const message = await answered('house/m', false);
    rig.answer((call, response) => {
      if (call.path.includes('/messages')) response.writeHead(500).end();
      else speak({ text: 'Hello' })(call, response);
    });
    rig.upstream.calls.length = 0;
    await whole(rig, { protocol: 'chat', model: 'house/m', change: { ...TOOLS.chat, ...chatHistoryOf(message) } });
    const [failed, answering] = rig.upstream.calls.map(({ body }) => JSON.stringify(body));
    assert.ok(failed?.includes(SIGNATURE), 'its owner gets it back');
    assert.ok(answering?.includes('done') && !answering.includes(SIGNATURE), answering);
    assert.ok(!answering?.includes('eyJwb2x5Z2F0ZSI6'), answering);
  });

  const relayed: [protocol: ProtocolId, foreign: string][] = [
    ['messages', 'c/m'],
    ['generate', 'b/m'],
  ];
  for (const [protocol, foreign] of relayed) {
    test(`checklist 72: a ${protocol} client that moves from ${foreign} to ${MODELS[protocol]} brings nothing along`, async () => {
      rig.say({ reasoning: 'Hmm.', signature: SIGNATURE, calls: [CALL] });
      const first = await whole(rig, { protocol, model: foreign, change: TOOLS[protocol] });
      assert.ok(JSON.stringify(first).includes('eyJwb2x5Z2F0ZSI6'));
      rig.upstream.calls.length = 0;
      const own = MODELS[protocol];
      await whole(rig, { protocol, model: own, change: { ...TOOLS[protocol], ...historyOf(protocol, first) } });
      const text = JSON.stringify(rig.sent().body);
      assert.ok(!text.includes('eyJwb2x5Z2F0ZSI6') && !text.includes(SIGNATURE), text);
      assert.ok(text.includes('done'));
    });
  }
});

function historyOf(protocol: ProtocolId, answer: Json): Json {
  if (protocol === 'messages') {
    const { id } = answer.content.find(({ type }: Json) => type === 'tool_use');
    return {
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: answer.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'done' }] },
      ],
    };
  }
  const { content } = answer.candidates[0];
  const { id, name } = content.parts.find((part: Json) => part.functionCall).functionCall;
  return {
    contents: [
      { role: 'user', parts: [{ text: 'go' }] },
      content,
      { role: 'user', parts: [{ functionResponse: { id, name, response: { output: 'done' } } }] },
    ],
  };
}
