/** Looking models up, and paging through them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundledModels } from '../../src/catalog/bundled.ts';
import { createCatalog } from '../../src/catalog/catalog.ts';
import { catalogModel } from '../../src/catalog/entry.ts';
import { GatewayError } from '../../src/core/errors.ts';

const one = ['a', 'b', 'c', 'd', 'e'].map((id) => catalogModel('one', { id }));
const two = [
  catalogModel('two', { id: 'accounts/x/models/y:free' }),
  catalogModel('two', { id: 'alias', canonicalSlug: 'two/alias-2026-01-01' }),
];
const catalog = createCatalog([
  { provider: 'one', models: one },
  { provider: 'two', models: two },
  { provider: 'empty', models: [] },
]);

test('all models in the order of the providers', () => {
  assert.deepEqual(catalog.all(), [...one, ...two]);
});

test('a provider without models is known, another is not', () => {
  assert.deepEqual(catalog.ofProvider('one'), one);
  assert.deepEqual(catalog.ofProvider('empty'), []);
  assert.equal(catalog.ofProvider('three'), undefined);
});

test('models are found by ids of any number of slashes and by slugs', () => {
  assert.equal(catalog.find('two/accounts/x/models/y:free'), two[0]);
  assert.equal(catalog.find('two/alias'), two[1]);
  assert.equal(catalog.find('two/alias-2026-01-01'), two[1]);
  for (const id of ['two', 'two/', 'alias', 'one/z', '', '__proto__']) assert.equal(catalog.find(id), undefined, id);
});

test('a slug that is also an id is that model', () => {
  const bundled = createCatalog([{ provider: 'openai', models: bundledModels('openai') }]);
  assert.equal(bundled.find('openai/gpt-5')?.canonicalSlug, 'openai/gpt-5-2025-08-07');
  assert.equal(bundled.find('openai/gpt-5-2025-08-07')?.id, 'openai/gpt-5-2025-08-07');
  for (const model of bundled.all()) assert.ok(bundled.find(model.canonicalSlug), model.canonicalSlug);
});

test('of two models with one id the later counts', () => {
  const other = catalogModel('one', { id: 'b', name: 'Other' });
  const both = createCatalog([
    { provider: 'one', models: one },
    { provider: 'one', models: [other] },
  ]);
  assert.deepEqual(
    both.all().map(({ name }) => name),
    ['a', 'Other', 'c', 'd', 'e'],
  );
  assert.equal(both.find('one/b'), other);
});

test('pages', () => {
  const ids = (page: Parameters<typeof catalog.page>[1]) => {
    const { models, more } = catalog.page(one, page);
    return [models.map(({ upstreamId }) => upstreamId).join(''), more];
  };
  assert.deepEqual(ids({}), ['abcde', false]);
  assert.deepEqual(ids({ limit: 2 }), ['ab', true]);
  assert.deepEqual(ids({ limit: 5 }), ['abcde', false]);
  assert.deepEqual(ids({ limit: 2, after: 'one/b' }), ['cd', true]);
  assert.deepEqual(ids({ limit: 2, after: 'one/c' }), ['de', false]);
  assert.deepEqual(ids({ after: 'one/e' }), ['', false]);
  assert.deepEqual(ids({ limit: 2, before: 'one/d' }), ['bc', true]);
  assert.deepEqual(ids({ limit: 2, before: 'one/c' }), ['ab', false]);
  assert.deepEqual(ids({ after: 'one/a', before: 'one/e', limit: 2 }), ['bc', true]);
  assert.deepEqual(ids({ after: 'one/d', before: 'one/b' }), ['', false]);
});

test('a cursor that is no id is refused by name', () => {
  const refused = (param: string) => (error: unknown) =>
    error instanceof GatewayError && error.code === 'invalid_request' && error.param === param;
  assert.throws(() => catalog.page(one, { after: 'two/alias' }), refused('after'));
  assert.throws(() => catalog.page(one, { before: 'x' }), refused('before'));
});

test('lists cannot be changed', () => {
  assert.throws(() => (catalog.all() as unknown[]).push(1), TypeError);
  assert.throws(() => (catalog.ofProvider('one') as unknown[]).pop(), TypeError);
});
