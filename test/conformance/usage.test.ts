/** Conformance: token counts in all six directions, and bytes of upstream streams however they are cut. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { parseEvents } from '../../src/core/sse.ts';
import type { ProtocolId } from '../gateway/harness.ts';
import { checkStream } from '../validators/index.ts';
import { type Said, SPEAKERS } from './answers.ts';
import { IDS, MODELS, streamed, useRig, whole } from './rig.ts';

const rig = useRig();

/** The same answer as each protocol counts it: 100 tokens in, of which 30 cached and 20 written to the cache, 50 out, of which 15 thoughts. */
const COUNTED: Record<ProtocolId, Json> = {
  chat: {
    ...{ prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
    prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 },
    completion_tokens_details: { reasoning_tokens: 15 },
  },
  messages: {
    ...{ input_tokens: 50, cache_read_input_tokens: 30, cache_creation_input_tokens: 20, output_tokens: 50 },
    output_tokens_details: { thinking_tokens: 15 },
  },
  generate: {
    ...{ promptTokenCount: 90, toolUsePromptTokenCount: 10, cachedContentTokenCount: 30 },
    ...{ candidatesTokenCount: 35, thoughtsTokenCount: 15, totalTokenCount: 150 },
  },
};

const FORMULAS: [from: ProtocolId, to: ProtocolId, expected: Json][] = [
  ['messages', 'chat', COUNTED.chat],
  ['chat', 'messages', COUNTED.messages],
  [
    'generate',
    'chat',
    {
      ...{ prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 },
      prompt_tokens_details: { cached_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 15 },
    },
  ],
  [
    'chat',
    'generate',
    {
      ...{ promptTokenCount: 100, cachedContentTokenCount: 30 },
      ...{ candidatesTokenCount: 35, thoughtsTokenCount: 15, totalTokenCount: 150 },
    },
  ],
  [
    'generate',
    'messages',
    {
      ...{ input_tokens: 70, cache_read_input_tokens: 30, cache_creation_input_tokens: 0, output_tokens: 50 },
      output_tokens_details: { thinking_tokens: 15 },
    },
  ],
  [
    'messages',
    'generate',
    {
      ...{ promptTokenCount: 100, cachedContentTokenCount: 30 },
      ...{ candidatesTokenCount: 35, thoughtsTokenCount: 15, totalTokenCount: 150 },
    },
  ],
];

const usageOf = (body: Json): Json => body.usage ?? body.usageMetadata;

describe('formulas', () => {
  for (const [from, to, expected] of FORMULAS) {
    for (const stream of [false, true]) {
      test(`checklist 76: from ${from} to ${to}, ${stream ? 'streamed' : 'whole'}`, async () => {
        rig.say({ text: 'Hello', usage: COUNTED[from] });
        const change = to === 'chat' && stream ? { stream_options: { include_usage: true } } : {};
        const sent = { protocol: to, model: MODELS[from], change };
        const last = (text: string) => checkStream(to, text).data.findLast(usageOf);
        const usage = usageOf(stream ? last(await streamed(rig, sent)) : await whole(rig, sent));
        assert.partialDeepStrictEqual(usage, expected);
        const share = from === 'generate' ? usage.prompt_tokens_details?.cache_write_tokens : undefined;
        assert.equal(share, undefined);
      });
    }
  }
});

const TEXT = '👋🏽 𝒳y 漢字 é 🇩🇪 “x”\u2028😀';

/** The text that a client reads out of a stream. */
const READ: Record<ProtocolId, (event: Json) => string> = {
  chat: ({ choices }) => choices[0]?.delta.content ?? '',
  messages: ({ delta }) => delta?.text ?? '',
  generate: ({ candidates }) => candidates?.[0]?.content.parts[0]?.text ?? '',
};

function textOf(protocol: ProtocolId, stream: string): string {
  return parseEvents(Buffer.from(stream))
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => READ[protocol](JSON.parse(data)))
    .join('');
}

/** Every byte is a chunk of its own, and on the wire before the next is written. */
async function drip(response: ServerResponse, bytes: Buffer): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.socket?.setNoDelay(true);
  for (const byte of bytes) await new Promise((resolve) => response.write(Buffer.of(byte), resolve));
  response.end();
}

for (const upstream of IDS) {
  for (const client of IDS) {
    test(`checklist 77: characters of four bytes, byte by byte, from ${upstream} to ${client}`, async () => {
      const bytes = Buffer.from(SPEAKERS[upstream].stream({ text: TEXT }));
      rig.answer((_call, response) => drip(response, bytes));
      const stream = await streamed(rig, { protocol: client, model: MODELS[upstream] });
      assert.equal(textOf(client, stream), TEXT);
      if (client !== upstream) assert.equal(checkStream(client, stream).ending, 'complete');
    });
  }

  const said: Said = { reasoning: 'Hmm.', text: TEXT, calls: [{ id: 'call_1', name: 'f', args: { a: 'é' } }] };
  const forms: Record<string, (text: string) => string> = {
    LF: (text) => text,
    CRLF: (text) => text.replaceAll('\n', '\r\n'),
    CR: (text) => text.replaceAll('\n', '\r'),
    'no space after the colon': (text) => text.replaceAll('data: ', 'data:'),
    'comments between': (text) => text.replaceAll('\n\n', '\n\n: comment\n\n'),
    'a byte order mark': (text) => `\ufeff${text}`,
  };
  for (const [name, form] of Object.entries(forms)) {
    test(`checklist 78: lines of ${upstream} with ${name}, byte by byte`, async () => {
      const client = upstream === 'chat' ? 'messages' : 'chat';
      const sent = { protocol: client, model: MODELS[upstream] } as const;
      const seen: string[] = [];
      for (const text of [SPEAKERS[upstream].stream(said), form(SPEAKERS[upstream].stream(said))]) {
        rig.answer((_call, response) => drip(response, Buffer.from(text)));
        seen.push(
          (await streamed(rig, sent))
            .replace(/"created":\d+/g, '"created":1')
            // Each answer has an id of its own.
            .replace(/(?<="(?:id|responseId)":"(?:chatcmpl-|msg_)?)[0-9a-f]{32}(?=")/g, 'x'),
        );
      }
      assert.equal(seen[1], seen[0]);
      assert.equal(checkStream(client, seen[1] ?? '').ending, 'complete');
    });
  }
}
