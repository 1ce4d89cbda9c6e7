/** Every regular expression in our code takes time in proportion to its input; and what a client names has a length. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'acorn';
import { check } from 'recheck';
import type { Json } from '../../src/core/json/json.ts';
import { MAX_MEDIA_TYPE_CHARACTERS } from '../../src/core/lengths.ts';
import { HEADERS, PATHS, type ProtocolId, post } from '../gateway/harness.ts';
import { attack } from './attack.ts';
import { type MeasuredGateway, startMeasuredGateway } from './loop-measure.ts';

const SOURCE = join(import.meta.dirname, '../../src');
const CHECK_TIMEOUT_MS = 60_000;
const HOLD_MS = 50;

/** Where an expression is made from a text, and why its input cannot make it slow. */
const MADE: Record<string, string> = {
  'core/json/check.ts': 'patterns of our own schemas, which are checked below as `pattern`',
  'inference/response/mark-search.ts': 'constants of the protocols, escaped, one of them or another',
  'protocols/chat/complete.ts': 'TOOL_NAME, anchored classes of 64 characters',
  'providers/sandbox/pattern-sample.ts': 'a class or an escape for a single character',
  'videos/mirror/s3-store.ts': 'a name of ours between two tags',
};

interface Found {
  pattern: string;
  flags: string;
  places: string[];
}

const found = new Map<string, Found>();
const made = new Set<string>();

function add(pattern: string, flags: string, place: string): void {
  const key = `/${pattern}/${flags}`;
  const known = found.get(key) ?? { pattern, flags, places: [] };
  known.places.push(place);
  found.set(key, known);
}

/** Literals, `new RegExp`, and the `pattern` of schemas. */
function visit(node: Json, file: string): void {
  if (typeof node !== 'object' || node === null) return;
  const place = `${file}:${node.loc?.start.line}`;
  if (node.type === 'Literal' && node.regex) add(node.regex.pattern, node.regex.flags, place);
  if (node.type === 'NewExpression' && node.callee.name === 'RegExp') made.add(file);
  if (node.type === 'Property' && node.key.name === 'pattern' && typeof node.value.value === 'string')
    add(node.value.value, 'u', place);
  for (const inner of Object.values(node)) if (typeof inner === 'object' && inner !== null) visit(inner, file);
}

for (const file of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))) {
  const code = stripTypeScriptTypes(readFileSync(join(SOURCE, file), 'utf8'));
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true }), file);
}

test('expressions are found', () => assert.ok(found.size > 150, String(found.size)));

test('an expression that is made from a text is known', () => assert.deepEqual([...made].sort(), Object.keys(MADE)));

test('the judge tells a quadratic expression from a linear one', async () => {
  assert.equal((await check(';.*$', '')).status, 'vulnerable');
  assert.equal((await check('^;[a-z]*$', '')).status, 'safe');
});

describe('linear', () => {
  for (const [literal, { pattern, flags, places }] of found) {
    test(`${literal} in ${places.join(', ')}`, async () => {
      const { status } = await check(pattern, flags, { timeout: CHECK_TIMEOUT_MS });
      assert.equal(status, 'safe');
    });
  }
});

let gateway: MeasuredGateway;

before(async () => {
  gateway = await startMeasuredGateway();
});
after(() => gateway.close());

/** A body with this media type for an image or a sound. */
function mediaBody(protocol: ProtocolId, model: string, type: string): Json {
  switch (protocol) {
    case 'chat': {
      const part = { type: 'image_url', image_url: { url: `data:${type};base64,iVBORw0KGgoA` } };
      return { model, messages: [{ role: 'user', content: [part] }] };
    }
    case 'messages': {
      const source = { type: 'base64', media_type: type, data: 'iVBORw0KGgoA' };
      return { model, max_tokens: 9, messages: [{ role: 'user', content: [{ type: 'image', source }] }] };
    }
    case 'generate':
      return { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: type, data: 'iVBORw0KGgoA' } }] }] };
  }
}

const FIELDS: Record<ProtocolId, RegExp> = {
  chat: /messages\[0\]\.content\[0\]\.image_url/,
  messages: /messages\[0\]\.content\[0\]\.source\.media_type/,
  generate: /contents\[0\]\.parts\[0\]\.inlineData\.mimeType/,
};

for (const protocol of ['chat', 'messages', 'generate'] as const) {
  attack(
    'expressions',
    {
      by: 'key holder',
      attempt: `${protocol}: a media type of 100,000 semicolons`,
      bound: `refused with 400, which names the field; held ${HOLD_MS} ms at most`,
    },
    async () => {
      const body = mediaBody(protocol, 'a/m', `audio/x${';'.repeat(100_000)}\n`);
      const { holdMs } = await gateway.measure(
        async () => {
          const response = await post(gateway.url + PATHS[protocol]('a/m', false), body, HEADERS[protocol]);
          const text = await response.text();
          assert.equal(response.status, 400, text);
          assert.match(text, FIELDS[protocol]);
          assert.match(text, new RegExp(`${MAX_MEDIA_TYPE_CHARACTERS} characters`));
        },
        (measured) => measured.holdMs < HOLD_MS,
      );
      assert.ok(holdMs < HOLD_MS, `${holdMs} ms`);
      return `${holdMs.toFixed(0)} ms, 400`;
    },
  );
}

attack(
  'expressions',
  {
    by: 'key holder',
    attempt: 'usage from a moment of 12,000 times "T"',
    bound: `refused with 400; held ${HOLD_MS} ms at most`,
  },
  async () => {
    const { holdMs } = await gateway.measure(
      async () => {
        const response = await fetch(`${gateway.url}/v1/usage?from=${'T'.repeat(12_000)}`, { headers: HEADERS.chat });
        const text = await response.text();
        assert.equal(response.status, 400, text);
        assert.match(text, /from must be an ISO date/);
      },
      (measured) => measured.holdMs < HOLD_MS,
    );
    assert.ok(holdMs < HOLD_MS, `${holdMs} ms`);
    return `${holdMs.toFixed(0)} ms, 400`;
  },
);
