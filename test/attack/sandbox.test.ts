/** The sandbox, which every key may use: small requests never make it do or write much. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS, post } from '../gateway/harness.ts';
import { attack } from './attack.ts';
import { type MeasuredGateway, startMeasuredGateway } from './loop-measure.ts';

const HOLD_MS = 50;
const MEBIBYTE = 1024 * 1024;
const ANSWER_BYTES = 8 * MEBIBYTE;
const MEMORY_BYTES = 64 * MEBIBYTE;

let gateway: MeasuredGateway;

before(async () => {
  gateway = await startMeasuredGateway();
});
after(() => gateway.close());

const text = 'sandbox '.repeat(2_000);
const constant = { const: text };
const format = (schema: Json): Json => ({
  model: 'sandbox/echo',
  messages: [{ role: 'user', content: 'Hi' }],
  response_format: { type: 'json_schema', json_schema: { name: 'f', schema } },
});
const tools = (schemas: readonly Json[]): Json => ({
  model: 'sandbox/tools',
  messages: [{ role: 'user', content: 'Do it in parallel.' }],
  tools: schemas.map((parameters, index) => ({ type: 'function', function: { name: `f${index}`, parameters } })),
});
const say = (content: Json, more: Json = {}): Json => ({
  model: 'sandbox/echo',
  messages: [{ role: 'user', content }],
  ...more,
});

const PATTERNS = Object.fromEntries(
  Array.from({ length: 1_000 }, (_, index) => [`p${index}`, { pattern: `${'[a-z]{90}'.repeat(50)}${index}` }]),
);

const BODIES: Record<string, Json> = {
  'an array of 10,000 items of 16 kB each': format({ type: 'array', items: constant, minItems: 10_000 }),
  'arrays of arrays of constants': format({
    type: 'array',
    minItems: 100,
    items: { type: 'array', minItems: 100, items: { enum: [text] } },
  }),
  '10,000 members of a constant': format({ type: 'object', minProperties: 10_000, additionalProperties: constant }),
  'the text of the user in each of 400 members': {
    ...format({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`p${index}`, { type: 'string' }])),
    }),
    messages: [{ role: 'user', content: text.repeat(60) }],
  },
  '120 tools with large arguments, called in parallel': tools(
    Array.from({ length: 120 }, () => ({ properties: { a: { type: 'array', minItems: 15, items: constant } } })),
  ),
  '120 tools with entangled schemas, called in parallel': tools(
    Array.from({ length: 120 }, () => ({
      allOf: [{ $ref: '#/d' }],
      d: { properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] },
    })),
  ),
  '1,000 long patterns': format({ type: 'object', properties: PATTERNS, required: Object.keys(PATTERNS) }),
  '16 answers with log probabilities of 16,000 tokens': say('a1. '.repeat(16_000), {
    n: 16,
    logprobs: true,
    top_logprobs: 5,
  }),
  'a text of 15 MB': say('word '.repeat(3 * MEBIBYTE)),
  'a text of 2 MB of signs': say('a.'.repeat(MEBIBYTE)),
  'a text of white space': say(' '.repeat(2_000_000)),
  'a data URL of a media type of 10 MB': say([
    { type: 'image_url', image_url: { url: `data:${';'.repeat(10 * MEBIBYTE)},x` } },
  ]),
};

for (const [name, body] of Object.entries(BODIES)) {
  const bytes = Buffer.from(JSON.stringify(body));
  attack(
    'sandbox',
    {
      by: 'key holder',
      attempt: `the sandbox is asked for ${name}`,
      bound: `answered or refused, held ${HOLD_MS} ms at most, at most 4 times the body and 64 MiB of memory`,
    },
    async () => {
      let answer = '';
      const within = 4 * bytes.length + MEMORY_BYTES;
      const { holdMs, bytes: memory } = await gateway.measure(
        async () => {
          const response = await post(`${gateway.url}/v1/chat/completions`, bytes, HEADERS.chat);
          const body = await response.text();
          assert.ok([200, 400].includes(response.status), `${response.status} ${body.slice(0, 300)}`);
          assert.ok(body.length < ANSWER_BYTES, `${body.length} characters`);
          answer = `${response.status}`;
        },
        (measured) => measured.holdMs < HOLD_MS && measured.bytes < within,
      );
      assert.ok(holdMs < HOLD_MS, `${holdMs} ms`);
      assert.ok(memory < within, `${memory} bytes for a body of ${bytes.length}`);
      return `${holdMs.toFixed(0)} ms, ${(memory / MEBIBYTE).toFixed(0)} MiB, ${answer}`;
    },
  );
}
