/** Catalog lookup and pagination. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundledModels } from '../../src/catalog/bundled.ts';
import { createCatalog } from '../../src/catalog/catalog.ts';
import { discoveredModels } from '../../src/catalog/discovered.ts';
import { catalogModel } from '../../src/catalog/entry.ts';
import { GatewayError } from '../../src/core/errors.ts';
import { encodeModel as encodeMessagesModel } from '../../src/protocols/messages/catalog.ts';
import { encodeModel as encodeChatModel } from '../../src/protocols/openai-catalog.ts';
import { encodeVideoModels } from '../../src/videos/model-list.ts';

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
  for (const id of ['two', 'two/', 'one/z', '', '__proto__']) assert.equal(catalog.find(id), undefined, id);
});

test('a slug that is also an id is that model', () => {
  const bundled = createCatalog([{ provider: 'openai', models: bundledModels('openai') }]);
  assert.equal(bundled.find('openai/gpt-5')?.canonicalSlug, 'openai/gpt-5', 'the slug is that of another model');
  assert.equal(bundled.find('openai/gpt-5-2025-08-07')?.id, 'openai/gpt-5-2025-08-07');
  for (const model of bundled.all()) assert.ok(bundled.find(model.canonicalSlug), model.canonicalSlug);
});

test('slugs are unique over the whole list, and ids name the same models as before', () => {
  const vendors = ['openai', 'anthropic', 'google', 'openrouter', 'xai', 'fal', 'volcengine', 'byteplus'];
  const discovered = {
    data: [
      { id: 'v/one', canonical_slug: 'v/one-20260101' },
      { id: 'v/one:free', canonical_slug: 'v/one-20260101' },
      { id: 'v/two', canonical_slug: 'v/one' },
    ],
  };
  const lists = vendors.map((provider) => ({ provider, models: bundledModels(provider) }));
  const listed = createCatalog([...lists, { provider: 'router', models: discoveredModels('router', discovered) }]);
  assert.ok(listed.all().length > 300);
  const slugs = listed.all().map(({ canonicalSlug }) => canonicalSlug);
  assert.equal(new Set(slugs).size, slugs.length);
  for (const model of listed.all()) {
    assert.equal(listed.find(model.id), model);
    assert.equal(listed.find(model.canonicalSlug), model);
  }
  const router = listed.ofProvider('router')?.map(({ canonicalSlug }) => canonicalSlug);
  assert.deepEqual(router, ['router/v/one-20260101', 'router/v/one:free', 'router/v/two']);
});

test('a model whose date nobody says has a date that clients take, and no year 1970 but where the protocol says so', () => {
  const dateless = catalogModel('local', { id: 'm', outputModalities: ['video'], video: {} });
  const catalogDate = Date.UTC(2026, 10, 1) / 1000;
  assert.equal(encodeChatModel(dateless).created, catalogDate);
  assert.equal(encodeVideoModels([dateless]).data[0].created, catalogDate);
  // "May be set to an epoch value if the release date is unknown", as the protocol's own types say.
  assert.equal(encodeMessagesModel(dateless).created_at, '1970-01-01T00:00:00Z');
  for (const vendor of ['openai', 'fal', 'kling', 'dashscope', 'xai']) {
    for (const model of bundledModels(vendor)) assert.ok(encodeChatModel(model).created > 1_500_000_000, model.id);
  }
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
