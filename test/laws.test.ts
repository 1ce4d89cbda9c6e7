/** Laws of every protocol in the registry, for any content. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { ChatRequest, ChatResponse, Finish, OpenPart, Part, Turn, Usage } from '../src/core/chat.ts';
import { fold, unfold } from '../src/core/fold.ts';
import type { EncoderOptions, Target } from '../src/core/operation.ts';
import type { Protocol } from '../src/core/protocol.ts';
import { createFramer, parseFrame } from '../src/core/sse.ts';
import { protocols } from '../src/protocols/index.ts';

const target: Target = {
  origin: 'upstream/family',
  model: 'upstream-model',
  rules: {
    sampling: 'always',
    bothSampling: true,
    forcedChoice: true,
    reasoningHistory: 'accepted',
    maxOutput: 100_000,
  },
};

const options: EncoderOptions = {
  model: 'provider/model',
  created: 1_700_000_000,
  includeUsage: true,
  array: false,
  hideReasoning: false,
};

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((text) => text.trim() === text);
const id = fc.stringMatching(/^[a-zA-Z0-9_-]{3,20}$/);
const name = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,20}$/);
const args = fc
  .dictionary(name, fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.string())))
  .map((value) => JSON.stringify(value));

const text = word.map((value): OpenPart => ({ type: 'text', text: value }));
const reasoning = word.map((value): OpenPart => ({ type: 'reasoning', text: value }));
const call = fc.record({ type: fc.constant('call' as const), id, name, args });

/** What every protocol can say: reasoning, then text, then calls. */
const parts = fc
  .tuple(fc.option(reasoning), fc.option(text), fc.uniqueArray(call, { maxLength: 3, selector: (part) => part.id }))
  .map(([first, second, calls]) => [first, second, ...calls].filter((part) => part !== null) as OpenPart[])
  .filter((list) => list.length > 0);

const usage = fc.record({ fresh: fc.nat(9999), cached: fc.nat(999), shown: fc.nat(999), hidden: fc.nat(999) }).map(
  ({ fresh, cached, shown, hidden }): Usage => ({
    input: fresh + cached,
    output: shown + hidden,
    cached,
    reasoning: hidden,
  }),
);

const response = fc
  .record({ id, parts, usage, length: fc.boolean() })
  .map(({ id, parts, usage, length }): ChatResponse => {
    const calls = parts.some((part) => part.type === 'call');
    const finish: Finish = { reason: calls ? 'calls' : length ? 'length' : 'stop' };
    return { id, model: 'provider/model', candidates: [{ parts, finish }], usage };
  });

/** What a response says, without spelling of ids and upstream words. */
function saying({ candidates, usage }: ChatResponse) {
  return {
    candidates: candidates.map(({ parts, finish }) => ({
      reason: finish.reason,
      parts: parts.map((part) => {
        if (part.type === 'call') return { name: part.name, args: JSON.parse(part.args || '{}') };
        return part.type === 'text' || part.type === 'reasoning' ? { type: part.type, text: part.text } : part;
      }),
    })),
    usage: {
      input: usage?.input ?? 0,
      output: usage?.output ?? 0,
      cached: usage?.cached ?? 0,
      reasoning: usage?.reasoning ?? 0,
    },
  };
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

test('fold(unfold(response)) is the response', () => {
  fc.assert(fc.property(response, (value) => assert.deepEqual(plain(fold(unfold(value))), plain(value))));
});

function streamOf(protocol: Protocol, value: ChatResponse): Buffer {
  const encoder = protocol.operations.complete.streamEncoder(options);
  return Buffer.from([...unfold(value)].map((event) => encoder.encode(event)).join('') + encoder.end());
}

function decodeStream(protocol: Protocol, bytes: Buffer, cuts: number[] = []): ChatResponse {
  const framer = createFramer();
  const decoder = protocol.operations.complete.streamDecoder(target);
  let start = 0;
  const frames: Buffer[] = [];
  for (const cut of [...cuts, bytes.length]) {
    frames.push(...framer.push(bytes.subarray(start, cut)));
    start = cut;
  }
  const events = [...frames, ...framer.end()].map(parseFrame).filter((event) => event !== undefined);
  return fold([...events.flatMap((event) => decoder.decode(event)), ...decoder.end()]);
}

for (const protocol of protocols) {
  describe(protocol.id, () => {
    test('a decoded answer says what the encoded one said', () => {
      fc.assert(
        fc.property(response, (value) => {
          const decoded = protocol.operations.complete.decodeResponse(
            plain(protocol.operations.complete.encodeResponse(value, options)),
            target,
          );
          assert.deepEqual(plain(saying(decoded)), plain(saying(value)));
        }),
      );
    });

    test('a stream says what the whole answer says, however it is cut', () => {
      fc.assert(
        fc.property(response, fc.array(fc.nat()), (value, positions) => {
          const bytes = streamOf(protocol, value);
          const cuts = positions.map((position) => position % (bytes.length + 1)).sort((one, other) => one - other);
          assert.deepEqual(plain(saying(decodeStream(protocol, bytes, cuts))), plain(saying(value)));
        }),
      );
    });

    test('a stream that breaks off anywhere before its end is an error, never an answer', () => {
      fc.assert(
        fc.property(response, fc.nat(), (value, position) => {
          const bytes = streamOf(protocol, value);
          const frames = createFramer().push(bytes);
          const kept = frames.slice(0, position % Math.max(1, frames.length - 2));
          const whole = Buffer.concat(kept);
          assert.throws(() => decodeStream(protocol, whole), { name: 'GatewayError' });
        }),
      );
    });

    test('a decoded request asks what the encoded one asked', () => {
      fc.assert(
        fc.property(request, (value) => {
          const { body, dropped } = protocol.operations.complete.encodeRequest(structuredClone(value), target);
          protocol.operations.complete.check(plain(body));
          assert.deepEqual(
            plain(asking(protocol.operations.complete.decodeRequest(plain(body)))),
            plain(without(asking(value), dropped)),
          );
        }),
      );
    });
  });
}

const image = fc
  .constantFrom('iVBORw0KGgo=', '/9j/4AAQ')
  .map(
    (data): Part => ({ type: 'media', kind: 'image', mime: data.startsWith('i') ? 'image/png' : 'image/jpeg', data }),
  );
const userTurn = fc
  .array(fc.oneof(text as fc.Arbitrary<Part>, image), { minLength: 1, maxLength: 3 })
  .map((list): Turn => ({ role: 'user', parts: list }));
const assistantTurn = text.map((part): Turn => ({ role: 'assistant', parts: [part] }));

/** Calls of one turn and all of their results, as one exchange. */
const toolTurns = fc
  .uniqueArray(fc.tuple(call, word, fc.boolean()), { minLength: 1, maxLength: 3, selector: ([{ id }]) => id })
  .map((list): Turn[] => [
    { role: 'assistant', parts: list.map(([part]) => part) },
    {
      role: 'user',
      parts: list.map(
        ([part, value]): Part => ({ type: 'result', callId: part.id, parts: [{ type: 'text', text: value }] }),
      ),
    },
  ]);

const request = fc
  .record({
    system: fc.option(word),
    exchanges: fc.array(
      fc.oneof(
        fc.tuple(userTurn, assistantTurn),
        toolTurns.map(([calls, results]) => [calls, results] as Turn[]),
      ),
      { maxLength: 3 },
    ),
    last: userTurn,
    // Responses has no fewer.
    maxTokens: fc.integer({ min: 16, max: 4000 }),
    temperature: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
    stop: fc.option(fc.uniqueArray(word, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    tools: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }),
  })
  .map(({ system, exchanges, last, tools, ...rest }): ChatRequest => {
    const turns: Turn[] = [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }, ...exchanges.flat(), last];
    if (system !== null) turns.unshift({ role: 'system', parts: [{ type: 'text', text: system }] });
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    return {
      ...rest,
      stream: false,
      turns,
      tools: tools.map((tool) => ({ name: tool, description: 'does', parameters })),
      dropped: [],
    };
  });

/** What a request asks, with neighbouring turns of one role as one, since protocols merge and split them. */
function asking({ turns, tools, maxTokens, temperature, stop }: ChatRequest) {
  const said: { role: string; what: unknown[] }[] = [];
  for (const { role, parts } of turns) {
    const what = parts.map(sayingOf);
    const last = said.at(-1);
    if (last?.role === role) last.what.push(...what);
    else said.push({ role, what });
  }
  // Texts that stand together may come back as one.
  const merged = said.map(({ role, what }) => ({ role, what: mergeTexts(what) }));
  return { merged, tools: tools.map((tool) => tool.name), maxTokens, temperature, stop };
}

function without(asked: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(asked).filter(([name]) => !names.includes(name)));
}

function sayingOf(part: Part): unknown {
  if (part.type === 'text') return part.text;
  if (part.type === 'call') return { id: part.id, name: part.name, args: JSON.parse(part.args) };
  if (part.type === 'result')
    return { callId: part.callId, text: part.parts.map((inner) => (inner.type === 'text' ? inner.text : '')).join('') };
  if (part.type === 'media') return { mime: part.mime, data: part.data };
  return part;
}

function mergeTexts(what: unknown[]): unknown[] {
  const merged: unknown[] = [];
  for (const piece of what) {
    const last = merged.length - 1;
    if (typeof piece === 'string' && typeof merged[last] === 'string') merged[last] = `${merged[last]}${piece}`;
    else merged.push(piece);
  }
  return merged;
}
