/** Changes of the prices of models, as operators read them: across reloads, and not where a provider only does not answer. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Json } from '../../src/core/json/json.ts';
import { ADMIN_CONFIG, askAdmin } from './admin-client.ts';
import { answerJson, KEY, startTestGateway, startUpstream, type TestGateway, type TestUpstream } from './harness.ts';

/** What the list of the upstream says a token costs; undefined while it fails. */
let listed: string | undefined = '0.000004';
let upstream: TestUpstream;
let gateway: TestGateway;

const yamlOf = (price: string) => `${ADMIN_CONFIG}
providers:
  own: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [{ id: small, pricing: { prompt: "${price}", completion: "0.000002" } }, { id: free }] }
  told: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: discover }
models: { house/both: { endpoints: [{ provider: told, model: large }] } }
`;

before(async () => {
  upstream = await startUpstream((_call, response) => {
    if (listed === undefined) return answerJson(response, { error: { message: 'down' } }, 503);
    return answerJson(response, { data: [{ id: 'large', object: 'model', pricing: { prompt: listed } }] });
  });
  gateway = await startTestGateway(yamlOf('0.000001'));
});
after(() => Promise.all([gateway.close(), upstream.close()]));

async function changes(): Promise<Json[]> {
  const { status, body } = await askAdmin(gateway.adminUrl, 'GET', '/models/price-changes');
  assert.equal(status, 200, JSON.stringify(body));
  assert.match(body.since, /^\d{4}-\d\d-\d\dT/);
  return body.data;
}

describe('prices of models', () => {
  test('that are seen for the first time are no change', async () => {
    assert.deepEqual(await changes(), []);
  });

  test('change with the configuration', async () => {
    const began = Date.now();
    gateway.reload(yamlOf('0.000001'));
    assert.deepEqual(await changes(), [], 'the same prices');
    gateway.reload(yamlOf('0.0000025'));
    const [change, ...others] = await changes();
    assert.deepEqual(others, []);
    const { id, changed_at: at, before: old, after: now } = change;
    assert.deepEqual([id, old.pricing.prompt, now.pricing.prompt], ['own/small', '0.000001', '0.0000025']);
    assert.deepEqual([old.pricing.completion, now.pricing.completion], ['0.000002', '0.000002']);
    assert.ok(Date.parse(at) >= began - 1000 && Date.parse(at) <= Date.now() + 1000);
  });

  test('change with the list of a provider, but not where it does not answer', async () => {
    listed = undefined;
    gateway.reload(yamlOf('0.0000025'));
    assert.equal((await changes()).length, 1);
    listed = '0.000004';
    gateway.reload(yamlOf('0.0000025'));
    assert.equal((await changes()).length, 1);
    listed = '0.000005';
    gateway.reload(yamlOf('0.0000025'));
    assert.deepEqual(
      (await changes()).map(({ id, before: old, after: now }) => [id, old.pricing.prompt, now.pricing.prompt]),
      [
        ['house/both', '0.000004', '0.000005'],
        ['told/large', '0.000004', '0.000005'],
        ['own/small', '0.000001', '0.0000025'],
      ],
    );
  });

  test('change for thousands of models at once', async () => {
    const many = Array.from(
      { length: 2100 },
      (_, index) => `{ id: m${index}, pricing: { prompt: "PRICE", completion: "0" } }`,
    ).join();
    const yaml = `${ADMIN_CONFIG}
providers: { many: { type: openai-compatible, base_url: "${upstream.url}/v1", api_key: x, models: [${many}] } }
`;
    const wide = await startTestGateway(yaml.replaceAll('PRICE', '0.000001'));
    const changed = async () => {
      const { body } = await askAdmin(wide.adminUrl, 'GET', '/models/price-changes');
      return new Set(body.data.map(({ id }: Json) => id)).size;
    };
    assert.equal(await changed(), 0);
    wide.reload(yaml.replaceAll('PRICE', '0.000002'));
    assert.equal(await changed(), 2000, 'the longest list');
    await wide.close();
  });

  test('are told to a key of the models that it may use', async () => {
    const toldTo = async (key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const response = await fetch(`${gateway.url}/v1/self/models/price-changes`, { headers });
      return ((await response.json()) as Json).data;
    };
    assert.deepEqual(await toldTo(KEY), await changes());
    const { body } = await askAdmin(gateway.adminUrl, 'POST', '/keys', { name: 'own', models: ['own/*'] });
    assert.deepEqual(
      (await toldTo(body.key)).map(({ id }: Json) => id),
      ['own/small'],
    );
  });
});
