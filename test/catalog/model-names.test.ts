/** Names of models: without the provider, by alias, misspelled, and not listed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCatalog } from '../../src/catalog/catalog.ts';
import { catalogModel } from '../../src/catalog/entry.ts';
import type { NamingOptions } from '../../src/catalog/model-names.ts';

const openai = [
  catalogModel('openai', { id: 'gpt-4o-mini', canonicalSlug: 'openai/gpt-4o-mini-2024-07-18' }, 'openai'),
  catalogModel('openai', { id: 'gpt-5' }, 'openai'),
];
const copy = [catalogModel('copy', { id: 'gpt-5', ownedBy: 'openai' }), catalogModel('copy', { id: 'own-1' })];
const router = [catalogModel('router', { id: 'vendor/own-1' }), catalogModel('router', { id: 'openai/gpt-9' })];

function catalogWith(naming?: NamingOptions) {
  return createCatalog(
    [
      { provider: 'copy', type: 'azure', models: copy },
      { provider: 'openai', models: openai },
      { provider: 'router', models: router },
      {
        provider: 'open',
        models: [catalogModel('open', { id: 'known' })],
        unlisted: (id) => ({ ...catalogModel('open', { id }), unlisted: true }),
      },
    ],
    naming,
  );
}

test('a name without the provider, an id or a dated one', () => {
  const { find } = catalogWith();
  assert.equal(find('gpt-4o-mini')?.id, 'openai/gpt-4o-mini');
  assert.equal(find('gpt-4o-mini-2024-07-18')?.id, 'openai/gpt-4o-mini');
  assert.equal(find('own-1')?.id, 'copy/own-1');
  assert.equal(find('vendor/own-1')?.id, 'router/vendor/own-1');
  for (const name of ['gpt', '', '/', 'constructor', '__proto__', '-mini']) assert.equal(find(name), undefined, name);
});

test('of several providers the vendor counts, or the configured order', () => {
  assert.equal(catalogWith().find('gpt-5')?.id, 'openai/gpt-5');
  assert.equal(catalogWith({ bareNames: ['router', 'copy'] }).find('gpt-5')?.id, 'copy/gpt-5');
  assert.equal(catalogWith({ bareNames: ['copy'] }).find('gpt-4o-mini')?.id, 'openai/gpt-4o-mini');
});

test('a name that begins with a ready provider is never the id of another provider', () => {
  assert.equal(catalogWith().find('openai/gpt-9'), undefined);
});

test('an alias may be a glob; a listed id is never an alias by a glob', () => {
  const aliases = new Map([
    ['claude-haiku-*', 'openai/gpt-4o-mini'],
    ['claude-*', 'openai/gpt-5'],
    ['gpt-*', 'copy/own-1'],
    ['copy/*', 'openai/gpt-5'],
  ]);
  const { find, resolveAlias } = catalogWith({ aliases });
  assert.equal(find('claude-haiku-4-5-20251001')?.id, 'openai/gpt-4o-mini');
  assert.equal(find('claude-opus-5')?.id, 'openai/gpt-5');
  assert.equal(find('gpt-4o-mini')?.id, 'copy/own-1', 'before names without a provider');
  assert.equal(find('copy/own-1')?.id, 'copy/own-1');
  assert.equal(resolveAlias('openai/gpt-4o-mini-2024-07-18'), 'openai/gpt-4o-mini-2024-07-18');
  assert.equal(resolveAlias('other'), 'other');
});

test('a provider that takes any model describes those that are not listed', () => {
  const { find } = catalogWith();
  assert.equal(find('open/known')?.unlisted, undefined);
  assert.deepEqual(find('open/new-model:8b')?.unlisted, true);
  assert.equal(find('open/deep/path')?.upstreamId, 'deep/path');
  const refused = [
    '',
    '..',
    'a/../b',
    '../a',
    'a//b',
    '/a',
    'a/',
    'a/.',
    'a b',
    'a?b',
    'a%2fb',
    'a\nb',
    'x'.repeat(201),
  ];
  for (const id of refused) assert.equal(find(`open/${id}`), undefined, id);
  assert.equal(find('openai/new-model'), undefined);
});

test('similar names, also with a wrong beginning', () => {
  const { similar } = catalogWith();
  assert.deepEqual(similar('gpt-4o-mni')[0], 'openai/gpt-4o-mini');
  assert.deepEqual(similar('openai/gtp-5').toSorted(), ['copy/gpt-5', 'openai/gpt-5']);
  assert.deepEqual(similar('GPT-4o-Mini')[0], 'openai/gpt-4o-mini');
  assert.deepEqual(similar('something-else'), []);
  assert.deepEqual(similar('gpt-5'.repeat(40)), []);
});

test('a name without its tag is that with the tag "latest"', () => {
  const ids = ['llama3.2:latest', 'llama3.1:8b', 'qwen3:4b', 'qwen3:latest', 'qwen3'];
  const models = ids.map((id) => catalogModel('ollama', { id }));
  const { find, similar } = createCatalog([{ provider: 'ollama', models }]);
  assert.equal(find('ollama/llama3.2')?.id, 'ollama/llama3.2:latest');
  assert.equal(find('llama3.2')?.id, 'ollama/llama3.2:latest');
  assert.equal(find('ollama/qwen3')?.id, 'ollama/qwen3', 'where there is one without');
  for (const name of ['ollama/llama3.1', 'llama3', 'ollama/']) assert.equal(find(name), undefined, name);
  assert.deepEqual(similar('ollama/llama3.1'), ['ollama/llama3.1:8b']);
});

test('names that begin with the one that was asked for are similar', () => {
  const ids = ['claude-opus-4-5-20251101', 'claude-opus-4-51-turbo-preview', 'o1-preview-2024'];
  const { similar } = createCatalog([
    { provider: 'anthropic', models: ids.map((id) => catalogModel('anthropic', { id })) },
  ]);
  assert.deepEqual(similar('claude-opus-4-5'), ['anthropic/claude-opus-4-5-20251101']);
  assert.deepEqual(similar('o1'), []);
});

test('a misspelled name is compared with few of many models', () => {
  const models = Array.from({ length: 20_000 }, (_, index) => catalogModel('many', { id: `model-${index}` }));
  const { similar } = createCatalog([{ provider: 'many', models }]);
  similar('warm');
  const begin = performance.now();
  for (let index = 0; index < 20; index++) assert.ok(similar(`modle-${index}`).length > 0);
  const suggestions = performance.now() - begin;
  const scanned = performance.now();
  for (let index = 0; index < 20; index++) models.filter(({ id }) => id.split('').reverse().join('') === 'x');
  assert.ok(suggestions < performance.now() - scanned, 'less than one look at every name');
});
