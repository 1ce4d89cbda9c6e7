/** The text in relayed frames is measured as a translation of them is estimated, without parsing. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Protocol } from '../../src/core/protocol.ts';
import { createTextMeter } from '../../src/inference/response/text-meter.ts';
import { estimateOutput } from '../../src/inference/tokens/estimate.ts';
import { chat } from '../../src/protocols/chat/index.ts';
import { generate } from '../../src/protocols/generate/index.ts';
import { messages } from '../../src/protocols/messages/index.ts';

const FRAMES: [Protocol, (text: string) => object][] = [
  [chat, (content) => ({ id: 'c', choices: [{ index: 0, delta: { content }, finish_reason: null }] })],
  [chat, (text) => ({ id: 'c', choices: [{ index: 0, delta: { content: '', reasoning_content: text } }] })],
  [messages, (text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })],
  [messages, (thinking) => ({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking } })],
  [generate, (text) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] } }], usageMetadata: {} })],
];

function framesOf(bodies: readonly object[]): Buffer[] {
  return bodies.map((body) => Buffer.from(`data: ${JSON.stringify(body)}\n\n`));
}

function measure({ operations }: Protocol, bodies: readonly object[]): number {
  const meter = createTextMeter(operations.complete.textPlaces);
  for (const frame of framesOf(bodies)) meter.add(frame);
  return meter.tokens();
}

describe('text in one frame is measured exactly, whatever its characters', () => {
  for (const [index, [protocol, bodyOf]] of FRAMES.entries()) {
    test(`${protocol.id} ${index}`, () => {
      const text = fc.string({ unit: 'grapheme', maxLength: 300 });
      fc.assert(fc.property(text, (words) => assert.equal(measure(protocol, [bodyOf(words)]), estimateOutput(words))));
    });
  }
});

const LANGUAGES = {
  words: (index: number) => `${index % 7 ? ' ' : '\n'}plain "words" of paragraph ${index}.`,
  code: (index: number) => `\tif (value[${index}] !== undefined) { return \`\\n\${value}\`; }\n`,
  ciphers: (index: number) => Buffer.from(`${index * 7919}`.repeat(3)).toString('base64'),
  chinese: (index: number) => `这是第${index}句话，用来测试估算。`,
};

describe('a stream of many small frames is measured within 15 %', () => {
  for (const [name, sentence] of Object.entries(LANGUAGES)) {
    for (const [index, [protocol, bodyOf]] of FRAMES.entries()) {
      test(`${name}, ${protocol.id} ${index}`, () => {
        const texts = Array.from({ length: 500 }, (_, count) => sentence(count));
        const whole = estimateOutput(texts.join(''));
        const measured = measure(protocol, texts.map(bodyOf));
        assert.ok(Math.abs(measured / whole - 1) < 0.15, `${measured} and ${whole} tokens`);
      });
    }
  }
});

test('repeated text counts once, citations and input do not count', () => {
  const text = 'Three words here.';
  const cited = { type: 'url_citation', url_citation: { url: 'u', content: 'long '.repeat(500) } };
  const delta = { content: text, annotations: [cited] };
  assert.equal(measure(chat, [{ choices: [{ delta }] }]), estimateOutput(text));
  const cumulative = { message: { content: 'before '.repeat(500) }, delta: { content: text } };
  assert.equal(measure(chat, [{ choices: [cumulative] }]), estimateOutput(text));
  const found = { type: 'mcp_tool_result', content: [{ type: 'text', text: 'found '.repeat(500) }] };
  assert.equal(measure(messages, [{ type: 'content_block_start', index: 0, content_block: found }]), 0);
  const grounded = { groundingSupports: [{ segment: { text: 'again '.repeat(500) } }] };
  const candidate = { content: { parts: [{ text }] }, groundingMetadata: grounded };
  assert.equal(measure(generate, [{ candidates: [candidate] }]), estimateOutput(text));
});

test('tool calls count with their names and arguments', () => {
  const args = JSON.stringify({ city: 'Detroit', days: [1, 2, 3], note: 'as "soon" as possible' });
  const near = (measured: number) => {
    const expected = estimateOutput(`get_weather ${args}`);
    assert.ok(Math.abs(measured / expected - 1) < 0.15, `${measured} and ${expected} tokens`);
  };
  const call = { index: 0, id: 'x', function: { name: 'get_weather', arguments: args } };
  near(measure(chat, [{ choices: [{ delta: { tool_calls: [call] } }] }]));
  const block = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} };
  const delta = { type: 'input_json_delta', partial_json: args };
  near(
    measure(messages, [
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
    ]),
  );
  const functionCall = { name: 'get_weather', args: JSON.parse(args) };
  near(measure(generate, [{ candidates: [{ content: { parts: [{ functionCall }] } }] }]));
});

test('at most the first megabyte of a frame is measured', () => {
  const many = Buffer.from(`data: {"delta":${'{"content":"a","content":'.repeat(1_000_000)}`);
  const slashes = Buffer.from(`data: {"delta":{"content":"${'\\'.repeat(20_000_000)}`);
  const begun = performance.now();
  for (const frame of [many, slashes]) createTextMeter(chat.operations.complete.textPlaces).add(frame);
  assert.ok(performance.now() - begun < 10_000);
});
