/**
 * Every dialect by example. `cases/*.json` holds {types, cases}; a case is a request before (`from`) and after (`to`; without
 * it the request must stay as it is), what is named as left out, and the model's own rules above those of its provider.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { bundledModels } from '../../src/catalog/bundled.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import type { Adaptation, Provider } from '../../src/core/provider.ts';
import { providerTypes } from '../../src/providers/index.ts';
import { ANY_MODEL } from './reach.ts';

interface Case {
  about: string;
  rules?: ModelRules;
  from: Json;
  to?: Json;
  dropped?: string[];
}

const folder = join(import.meta.dirname, 'cases');
const files: { types: string[]; cases: Case[] }[] = readdirSync(folder).map((file) =>
  JSON.parse(readFileSync(join(folder, file), 'utf8')),
);

function providerOf(type: string): Provider {
  const found = providerTypes.get(type);
  assert.ok(found, `no provider type ${type}`);
  return found.create({ id: type, baseUrl: found.baseUrl ?? 'http://127.0.0.1:9/v1' });
}

function adapt(provider: Provider, body: Json, rules: ModelRules = {}): Adaptation {
  const dialect = provider.speaks(ANY_MODEL).find(({ protocol }) => protocol === 'chat');
  return dialect?.adapt?.(body, { ...dialect.rules, ...rules }) ?? { changed: false, dropped: [] };
}

function check(provider: Provider, { from, to = from, dropped = [], rules }: Case): void {
  const body = structuredClone(from);
  const done = adapt(provider, body, rules);
  assert.deepEqual(body, to);
  assert.deepEqual(done, { changed: to !== from, dropped });
  assert.deepEqual(
    adapt(provider, body, rules),
    { changed: false, dropped: [] },
    'a second time nothing is to be done',
  );
  assert.deepEqual(body, to);
}

for (const { types, cases } of files) {
  for (const type of types) {
    describe(type, () => {
      for (const example of cases) test(example.about, () => check(providerOf(type), example));
    });
  }
}

const PLAIN = {
  model: 'some-model',
  stream: true,
  stream_options: { include_usage: true },
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'What is in Rome?' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'abcdefgh1', type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'abcdefgh1', content: 'The Colosseum.' },
    { role: 'user', content: 'And in Pisa?' },
  ],
  tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }],
  tool_choice: 'auto',
};

describe('a request that every server understands', () => {
  for (const { id } of providerTypes.values()) {
    test(`is left alone by ${id}`, () => {
      const body: Json = structuredClone(PLAIN);
      const done = adapt(providerOf(id), body, { reasoningHistory: 'accepted' });
      assert.deepEqual(body, PLAIN);
      assert.deepEqual(done, { changed: false, dropped: [] });
    });
  }
});

describe('a tool loop with reasoning', () => {
  const message = {
    ...PLAIN.messages[2],
    reasoning_content: 'I must look.',
  };
  for (const vendor of ['deepseek', 'moonshot', 'fireworks']) {
    for (const { id, rules } of bundledModels(vendor)) {
      test(`comes back whole to ${id}`, () => {
        const body: Json = structuredClone({ ...PLAIN, messages: [PLAIN.messages[1], message, PLAIN.messages[3]] });
        const provider = providerOf(vendor);
        adapt(provider, body, rules);
        assert.equal(body.messages.at(-2).reasoning_content, message.reasoning_content);
      });
    }
  }
});

describe('a malformed body', () => {
  for (const { id } of providerTypes.values()) {
    test(`is survived by ${id}`, () => {
      const odd: Json[] = [
        {},
        { messages: [] },
        { messages: [null, 'text', { role: 'assistant' }, { role: 'user', content: null }] },
        {
          messages: [{ role: 'assistant', tool_calls: [null] }],
          tools: [null],
          tool_choice: {},
          reasoning: null,
          response_format: {},
        },
      ];
      for (const body of odd)
        assert.doesNotThrow(() => adapt(providerOf(id), body, { schema: false, forcedChoice: false }));
    });
  }
});
