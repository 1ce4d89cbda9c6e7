/** Known complaints of users of gateways, where it takes a whole gateway to see them. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { IDS, MODELS, streamed, TOOLS, useRig, whole } from '../conformance/rig.ts';
import { checkStream } from '../validators/index.ts';
import type { ProtocolId } from './harness.ts';

const rig = useRig({
  providers: `
  claude: { type: anthropic, base_url: "URL", api_key: k, models: [{ id: claude-opus-5-5 }] }`,
});

/** Hundreds of kilobytes, with characters that JSON escapes and that take several bytes. */
const LARGE = { content: 'line "1"\n\\ é 𝄞 '.repeat(20_000), list: Array.from({ length: 2000 }, (_, index) => index) };

/** The arguments of the only call in a stream. */
const ARGUMENTS: Record<ProtocolId, (frames: Json[]) => Json> = {
  chat: (frames) =>
    JSON.parse(frames.map((frame) => frame.choices?.[0]?.delta.tool_calls?.[0]?.function?.arguments ?? '').join('')),
  messages: (frames) => JSON.parse(frames.map((frame) => frame.delta?.partial_json ?? '').join('')),
  generate: (frames) =>
    frames.flatMap((frame) => frame.candidates?.[0]?.content?.parts ?? []).find((part) => part.functionCall)
      ?.functionCall.args,
};

function framesOf(text: string): Json[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}

describe('failure 1', () => {
  for (const upstream of IDS) {
    for (const client of IDS) {
      test(`large arguments from ${upstream} to ${client} are whole`, async () => {
        rig.say({ calls: [{ id: 'call_1', name: 'f', args: LARGE }] });
        const text = await streamed(rig, { protocol: client, model: MODELS[upstream], change: TOOLS[client] });
        if (client !== upstream) checkStream(client, text);
        assert.deepEqual(ARGUMENTS[client](framesOf(text)), LARGE);
      });
    }
  }
});

describe('failure 12', () => {
  const names = ['zeta', 'alpha', 'mid', 'Beta', '_first'];
  const lists: Record<ProtocolId, Json> = {
    chat: { tools: names.map((name) => ({ type: 'function', function: { name } })) },
    messages: { tools: names.map((name) => ({ name, input_schema: { type: 'object', properties: {} } })) },
    generate: { tools: [{ functionDeclarations: names.map((name) => ({ name })) }] },
  };
  for (const upstream of IDS) {
    for (const client of IDS) {
      test(`the order of tools from ${client} to ${upstream} stays, so that prefixes are found in caches`, async () => {
        await whole(rig, { protocol: client, model: MODELS[upstream], change: lists[client] });
        const [first] = rig.sent().body.tools;
        const tools: Json[] = first.functionDeclarations ?? rig.sent().body.tools;
        assert.deepEqual(
          tools.map((tool) => tool.function?.name ?? tool.name),
          names,
        );
      });
    }
  }
});

describe('failure 16', () => {
  const limits: Record<ProtocolId, Json> = {
    chat: { max_completion_tokens: 100_000 },
    messages: { max_tokens: 100_000 },
    generate: { generationConfig: { maxOutputTokens: 100_000 } },
  };
  for (const client of IDS) {
    test(`a large limit without a stream, from ${client} to messages`, async () => {
      await whole(rig, { protocol: client, model: 'claude/claude-opus-5-5', change: limits[client] });
      assert.equal(rig.sent().body.max_tokens, 100_000);
    });
  }
});
