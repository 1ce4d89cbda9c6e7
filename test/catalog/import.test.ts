/** Each source format gives the same kind of entries; merging keeps what the source doesn't say. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CatalogEntry } from '../../src/catalog/entry.ts';
import { importModels } from '../../src/catalog/import/import.ts';
import { fileText, merge } from '../../src/catalog/import/merge.ts';

function sample(name: string): string {
  return readFileSync(new URL(`./samples/${name}.json`, import.meta.url), 'utf8');
}

function byId(entries: readonly CatalogEntry[], id: string): CatalogEntry {
  const found = entries.find((entry) => entry.id === id);
  assert.ok(found, `${id} is among ${entries.map((entry) => entry.id).join(', ')}`);
  return found;
}

for (const format of ['ruby-llm', 'openrouter', 'models-dev', 'litellm']) {
  test(`${format} is recognised by its content`, () => {
    assert.equal(importModels(sample(format)).format, format);
  });
}

test('ruby-llm', () => {
  const { entries, read, served } = importModels(sample('ruby-llm'));
  assert.deepEqual([read, served], [9, 6]);
  assert.deepEqual(byId(entries, 'openai/gpt-9'), {
    id: 'openai/gpt-9',
    canonicalSlug: 'openai/gpt-9-2026-02-01',
    name: 'GPT-9',
    created: 1770091506,
    contextLength: 400000,
    maxOutput: 128000,
    inputModalities: ['text', 'image', 'file'],
    outputModalities: ['text'],
    pricing: { prompt: '0.00000125', completion: '0.00001', input_cache_read: '0.000000125' },
    priceTiers: [{ minPromptTokens: 272001, pricing: { prompt: '0.0000025', completion: '0.000015' } }],
    supportedParameters: byId(entries, 'openai/gpt-9').supportedParameters,
  });
  assert.ok(byId(entries, 'openai/gpt-9').supportedParameters?.includes('tools'));
  assert.deepEqual(byId(entries, 'google/gemini-9-flash').pricing, {
    prompt: '0.0000003',
    completion: '0.0000025',
    audio: '0.000001',
  });
  assert.equal(byId(entries, 'google/gemini-9-flash').version, '9.0');
});

test('a snapshot without facts has those of its alias, another id those of its listing at OpenRouter', () => {
  const { entries } = importModels(sample('ruby-llm'));
  const snapshot = byId(entries, 'openai/gpt-9-2026-02-01');
  assert.equal(snapshot.name, 'GPT-9 (2026-02-01)');
  assert.equal(snapshot.contextLength, 400000);
  assert.equal(snapshot.pricing?.prompt, '0.00000125');
  const listed = byId(entries, 'openai/gpt-9-chatty');
  assert.equal(listed.name, 'GPT-9 Chatty');
  assert.deepEqual(listed.pricing, { prompt: '0.0000001', completion: '0.000008' });
  assert.equal(listed.isModerated, undefined, 'what holds for OpenRouter stays there');
  assert.equal(byId(entries, 'openrouter/openai/gpt-9-chatty').isModerated, true);
});

test('cache writes at Anthropic are priced by lifetime', () => {
  const { pricing } = byId(importModels(sample('ruby-llm')).entries, 'anthropic/claude-haiku-5-5');
  assert.deepEqual(pricing, {
    prompt: '0.000001',
    completion: '0.000005',
    input_cache_read: '0.0000001',
    input_cache_write_5m: '0.00000125',
    input_cache_write_1h: '0.000002',
  });
  const lite = byId(importModels(sample('litellm')).entries, 'anthropic/claude-haiku-5-5');
  assert.equal(lite.pricing?.input_cache_write_1h, '0.0000021');
  assert.deepEqual(lite.priceTiers, [
    {
      minPromptTokens: 200000,
      pricing: { prompt: '0.000002', input_cache_write_5m: '0.0000025', input_cache_write_1h: '0.000004' },
    },
  ]);
});

test('openrouter', () => {
  const { entries } = importModels(sample('openrouter'));
  assert.deepEqual(
    entries.map(({ id }) => id),
    ['openrouter/openrouter/auto', 'openrouter/vendor/model-1'],
  );
  assert.deepEqual(byId(entries, 'openrouter/vendor/model-1'), {
    id: 'openrouter/vendor/model-1',
    canonicalSlug: 'openrouter/vendor/model-1-20260801',
    name: 'Vendor: Model 1',
    created: 1785542400,
    contextLength: 262144,
    maxOutput: 131072,
    inputModalities: ['text', 'image'],
    outputModalities: ['text'],
    tokenizer: 'Other',
    instructType: 'chatml',
    isModerated: false,
    pricing: {
      prompt: '0.0000005',
      completion: '0.000003',
      audio: '0.000002',
      web_search: '0.01',
      input_cache_write_1h: '0.000001',
    },
    priceTiers: [
      { minPromptTokens: 128000, pricing: { prompt: '0.000001' } },
      { minPromptTokens: 256000, pricing: { prompt: '0.000002' } },
    ],
    supportedParameters: ['max_tokens', 'tools'],
    expirationDate: '2027-01-31',
  });
  assert.deepEqual(byId(entries, 'openrouter/openrouter/auto').pricing, {}, 'a price that varies is none');
});

test('models-dev', () => {
  const { entries } = importModels(sample('models-dev'));
  assert.deepEqual(
    entries.map(({ id }) => id),
    ['anthropic/claude-sonnet-4-5', 'openai/gpt-9'],
  );
  const model = byId(entries, 'openai/gpt-9');
  assert.equal(model.created, Date.UTC(2026, 1, 3) / 1000);
  assert.deepEqual(model.pricing, {
    prompt: '0.0000015',
    completion: '0.000012',
    input_cache_read: '0.00000015',
    internal_reasoning: '0.000014',
    audio: '0.000003',
    audio_output: '0.000006',
  });
  assert.deepEqual(
    model.priceTiers?.map(({ minPromptTokens }) => minPromptTokens),
    [272001, 500001],
  );
  assert.deepEqual(byId(entries, 'anthropic/claude-sonnet-4-5').priceTiers, [
    {
      minPromptTokens: 200000,
      pricing: {
        prompt: '0.000006',
        completion: '0.0000225',
        input_cache_read: '0.0000006',
        input_cache_write_5m: '0.0000075',
        input_cache_write_1h: '0.000012',
      },
    },
  ]);
});

test('litellm', () => {
  const { entries } = importModels(sample('litellm'));
  assert.deepEqual(
    entries.map(({ id }) => id),
    ['anthropic/claude-haiku-5-5', 'google/gemini-10-flash', 'google/gemini-9-flash', 'openai/gpt-9'],
  );
  const model = byId(entries, 'openai/gpt-9');
  assert.deepEqual(model.pricing, {
    prompt: '0.00000125',
    completion: '0.00001',
    input_cache_read: '0.000000125',
    web_search: '0.025',
  });
  assert.deepEqual(model.priceTiers, [
    { minPromptTokens: 272001, pricing: { prompt: '0.0000025', completion: '0.000015' } },
  ]);
  assert.deepEqual(model.inputModalities, ['text', 'image', 'file']);
  assert.equal(model.expirationDate, '2028-02-01');
  assert.deepEqual(byId(entries, 'google/gemini-9-flash').pricing, {
    prompt: '0.0000003',
    completion: '0.0000025',
    audio: '0.000001',
    input_audio_cache: '0.0000001',
    image_output: '0.00003',
    web_search_request: '0.035',
  });
  assert.equal(byId(entries, 'google/gemini-10-flash').pricing?.web_search, '0.014', 'by the query');
});

test('the price of images as that of all output leaves the known price of text', () => {
  const known = {
    id: 'google/gemini-9-image',
    contextLength: 1,
    pricing: { completion: '0.000003', image_output: '0.00006' },
  };
  const read = (completion: string) =>
    merge([known], [{ ...known, pricing: { completion } }], false).entries[0]?.pricing;
  assert.deepEqual(read('0.00006'), known.pricing);
  assert.deepEqual(read('0.000004'), { completion: '0.000004', image_output: '0.00006' });
});

test('a second source adds to the first and the slug never changes', () => {
  const before = importModels(sample('ruby-llm')).entries;
  const { entries, added, changed, removed } = importModels(sample('models-dev'), { before });
  assert.deepEqual([added, changed, removed], [['anthropic/claude-sonnet-4-5'], ['openai/gpt-9'], []]);
  const model = byId(entries, 'openai/gpt-9');
  assert.equal(model.canonicalSlug, 'openai/gpt-9-2026-02-01');
  assert.equal(model.pricing?.prompt, '0.0000015');
  const later = importModels(sample('openrouter'), { before: [{ id: 'openrouter/vendor/model-1' }] });
  assert.equal(
    byId(later.entries, 'openrouter/vendor/model-1').canonicalSlug,
    undefined,
    'it was its own slug and stays so',
  );
});

test('a fresh import drops what the source does not mention, and keeps slugs', () => {
  const before = importModels(sample('ruby-llm')).entries;
  const { entries, removed } = importModels(sample('models-dev'), { before, fresh: true });
  assert.deepEqual(
    entries.map(({ id }) => id),
    ['anthropic/claude-sonnet-4-5', 'openai/gpt-9'],
  );
  assert.equal(removed.length, 5);
  assert.equal(byId(entries, 'openai/gpt-9').canonicalSlug, 'openai/gpt-9-2026-02-01');
});

test('importing the same again changes nothing, and the file is one model a line', () => {
  const before = importModels(sample('openrouter')).entries;
  const again = importModels(sample('openrouter'), { before });
  assert.deepEqual([again.added, again.changed, again.removed], [[], [], []]);
  const file = fileText(again.entries);
  assert.deepEqual(JSON.parse(file), again.entries);
  assert.equal(file.split('\n').length, again.entries.length + 3);
});

test('unknown formats are named', () => {
  assert.throws(() => importModels('{"a":1}'), /none of the formats ruby-llm, openrouter, models-dev, litellm/);
  assert.throws(() => importModels('[]', { format: 'csv' }), /unknown format csv/);
});

test('the command writes the file and says what changed', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const out = join(folder, 'models.json');
  const run = (...args: string[]) =>
    spawnSync(
      process.execPath,
      [fileURLToPath(new URL('../../src/catalog/import/main.ts', import.meta.url)), ...args],
      {
        encoding: 'utf8',
      },
    );
  const source = fileURLToPath(new URL('./samples/models-dev.json', import.meta.url));
  const first = run(source, '--out', out);
  assert.equal(first.status, 0, first.stderr);
  assert.match(first.stdout, /format +models-dev\n/);
  assert.match(first.stdout, /added +2\n/);
  assert.match(first.stdout, /^\+ openai\/gpt-9$/m);
  assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')), importModels(sample('models-dev')).entries);
  assert.match(run(source, '--out', out).stdout, /changed +0\n/);
  assert.equal(run('http://example.com/models', '--out', out).status, 1);
  assert.match(run().stderr, /Usage: npm run catalog/);
});
